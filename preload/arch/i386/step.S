/*
 * The functions of the rows STEP: each jumps to its next definition if nothing is pending of what it
 * is about (aside.h), else step_aside() has a look first, with the arguments where they are.
 * Everything is then as it was; ecx is a nested function's.
 */
#define NUMBERS 65536 /* ASIDE_NUMBERS */
#define FILENO 56     /* of struct _IO_FILE; entry_step.c looks whether it is */

	/* All of these: to 1 if step_aside() has to have a look. Mostly nothing is pending at all. eax is the table of addresses. */
	.macro	check_kept
	cmpl	$NUMBERS, %edx
	jae	2f
	cmpb	$0, aside_kept@GOTOFF(%eax,%edx)
	jne	1f
2:
	.endm

	/* A FILE that is none is libc's affair. */
	.macro	check_file number
	cmpl	$0, aside_pending@GOTOFF(%eax)
	je	3f
	movl	4+4*\number(%esp), %edx
	testl	%edx, %edx
	je	3f
	movl	FILENO(%edx), %edx
	check_kept
3:
	.endm

	.macro	check_number number
	cmpl	$0, aside_pending@GOTOFF(%eax)
	je	2f
	movl	4+4*\number(%esp), %edx
	check_kept
	.endm

	.macro	check_bytes
	cmpl	$0, aside_files@GOTOFF(%eax)
	jne	1f
	.endm

	.macro	check_std pointer
	movl	\pointer@GOT(%eax), %edx
	movl	(%edx), %edx
	movl	FILENO(%edx), %edx
	check_kept
	.endm

	.macro	check_all
	cmpl	$0, aside_pending@GOTOFF(%eax)
	jne	1f
	check_bytes
	.endm

	.macro	check_nothing
	jmp	1f
	.endm

#include "../step_rows.h"

	.macro	step name, what
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	call	step_here
	addl	$_GLOBAL_OFFSET_TABLE_, %eax
	row_\what
	movl	next@GOTOFF+4*hook_number(%eax), %eax
	testl	%eax, %eax
	je	1f
	jmp	*%eax
1:	movl	$hook_number, %eax
	jmp	step_slowly
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	.type	step_here, @function
step_here:
	.cfi_startproc
	movl	(%esp), %eax
	ret
	.cfi_endproc
	.size	step_here, . - step_here

	.type	step_slowly, @function
step_slowly:
	.cfi_startproc
	leal	4(%esp), %edx
	pushl	%ecx
	.cfi_adjust_cfa_offset 4
	pushl	%edx
	.cfi_adjust_cfa_offset 4
	pushl	%eax
	.cfi_adjust_cfa_offset 4
	call	step_aside
	addl	$8, %esp
	.cfi_adjust_cfa_offset -8
	popl	%ecx
	.cfi_adjust_cfa_offset -4
	jmp	*%eax
	.cfi_endproc
	.size	step_slowly, . - step_slowly

	.set	hook_number, 0
#define HOOK(ret, name, params, fallback) .set hook_number, hook_number + 1;
#define NEWFD(name, params, args, fallback) .set hook_number, hook_number + 1;
#define STEP(name, what, fallback) step name, what; .set hook_number, hook_number + 1;
#include "hooks.def"

	.section .note.GNU-stack, "", @progbits
