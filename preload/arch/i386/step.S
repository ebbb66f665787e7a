/*
 * The functions of the rows STEP: each jumps to its next definition if nothing is pending, else
 * step_aside() has a look first, with the arguments where they are. Everything is then as it was;
 * ecx is a nested function's.
 */
	.macro	step name, what
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	/* What is for good is so whether something is pending or not. */
	.ifnc	\what, SHARE
	.ifnc	\what, KEEP1
	.ifnc	\what, MESSAGE1
	.ifnc	\what, MESSAGES1
	call	step_here
	addl	$_GLOBAL_OFFSET_TABLE_, %eax
	cmpl	$0, aside_pending@GOTOFF(%eax)
	jne	1f
	movl	next@GOTOFF+4*hook_number(%eax), %eax
	testl	%eax, %eax
	je	1f
	jmp	*%eax
	.endif
	.endif
	.endif
	.endif
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
