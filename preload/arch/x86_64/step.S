/*
 * The functions of the rows STEP: each jumps to its next definition if nothing is pending of what it
 * is about (aside.h), else step_aside() has a look first, with the arguments that came in registers.
 * Everything is then as it was; al is part of a call with variable arguments, r10 a nested function's.
 */
#define NUMBERS 65536 /* ASIDE_NUMBERS */
#define FILENO 112    /* of struct _IO_FILE; entry_step.c looks whether it is */

	/* All of these: to 1 if step_aside() has to have a look. Mostly nothing is pending at all. */
	.macro	check_kept
	cmpl	$NUMBERS, %r11d
	jae	2f
	addq	kept_at(%rip), %r11
	cmpb	$0, (%r11)
	jne	1f
2:
	.endm

	.macro	load_argument number
	.if	\number == 0
	movq	%rdi, %r11
	.elseif	\number == 1
	movq	%rsi, %r11
	.elseif	\number == 2
	movq	%rdx, %r11
	.else
	movq	%rcx, %r11
	.endif
	.endm

	/* A FILE that is none is libc's affair. */
	.macro	check_file number
	cmpl	$0, aside_pending(%rip)
	je	3f
	load_argument \number
	testq	%r11, %r11
	je	3f
	movl	FILENO(%r11), %r11d
	check_kept
3:
	.endm

	.macro	check_number number
	cmpl	$0, aside_pending(%rip)
	je	2f
	load_argument \number
	movl	%r11d, %r11d
	check_kept
	.endm

	.macro	check_bytes
	cmpl	$0, aside_files(%rip)
	jne	1f
	.endm

	.macro	check_std pointer
	movq	\pointer@GOTPCREL(%rip), %r11
	movq	(%r11), %r11
	movl	FILENO(%r11), %r11d
	check_kept
	.endm

	.macro	check_all
	cmpl	$0, aside_pending(%rip)
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
	endbr64
	row_\what
	movq	next+8*hook_number(%rip), %r11
	testq	%r11, %r11
	je	1f
	jmp	*%r11
1:	movl	$hook_number, %r11d
	jmp	step_slowly
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.data
	.p2align 3
kept_at:
	.quad	aside_kept

	.text
	.type	step_slowly, @function
step_slowly:
	.cfi_startproc
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	subq	$136, %rsp
	.cfi_adjust_cfa_offset 136
	movaps	%xmm0, (%rsp)
	movaps	%xmm1, 16(%rsp)
	movaps	%xmm2, 32(%rsp)
	movaps	%xmm3, 48(%rsp)
	movaps	%xmm4, 64(%rsp)
	movaps	%xmm5, 80(%rsp)
	movaps	%xmm6, 96(%rsp)
	movaps	%xmm7, 112(%rsp)
	movl	%r11d, %edi
	leaq	136(%rsp), %rsi
	call	step_aside
	movq	%rax, %r11
	movaps	(%rsp), %xmm0
	movaps	16(%rsp), %xmm1
	movaps	32(%rsp), %xmm2
	movaps	48(%rsp), %xmm3
	movaps	64(%rsp), %xmm4
	movaps	80(%rsp), %xmm5
	movaps	96(%rsp), %xmm6
	movaps	112(%rsp), %xmm7
	addq	$136, %rsp
	.cfi_adjust_cfa_offset -136
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	popq	%r10
	.cfi_adjust_cfa_offset -8
	jmp	*%r11
	.cfi_endproc
	.size	step_slowly, . - step_slowly

	.set	hook_number, 0
#define HOOK(ret, name, params, fallback) .set hook_number, hook_number + 1;
#define NEWFD(name, params, args, fallback) .set hook_number, hook_number + 1;
#define STEP(name, what, fallback) step name, what; .set hook_number, hook_number + 1;
#include "hooks.def"

	.section .note.GNU-stack, "", @progbits
