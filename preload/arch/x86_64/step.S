/*
 * The functions of the rows STEP: each jumps to its next definition if nothing is pending, else
 * step_aside() has a look first, with the arguments that came in registers. Everything is then as it
 * was; al is part of a call with variable arguments, r10 a nested function's.
 */
	.macro	step name, what
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	endbr64
	/* What is for good is so whether something is pending or not. */
	.ifnc	\what, SHARE
	.ifnc	\what, KEEP1
	.ifnc	\what, MESSAGE1
	.ifnc	\what, MESSAGES1
	cmpl	$0, aside_pending(%rip)
	jne	1f
	movq	next+8*hook_number(%rip), %r11
	testq	%r11, %r11
	je	1f
	jmp	*%r11
	.endif
	.endif
	.endif
	.endif
1:	movl	$hook_number, %r11d
	jmp	step_slowly
	.cfi_endproc
	.size	\name, . - \name
	.endm

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
