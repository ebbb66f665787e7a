/*
 * dlopen(path, flags): asks dlopen_target() where to go and with which flags, and goes there with the
 * caller's return address in its place.
 */
	.text
	.globl	dlopen
	.type	dlopen, @function
dlopen:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	subq	$16, %rsp
	.cfi_adjust_cfa_offset 16
	movl	%esi, 8(%rsp)
	leaq	8(%rsp), %rsi
	call	dlopen_target
	movl	8(%rsp), %esi
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
