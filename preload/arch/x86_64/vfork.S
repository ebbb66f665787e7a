/*
 * vfork: the system call itself, for a C function can't return twice from one frame. The child runs
 * on its parent's stack and overwrites the return address that stands below the caller's frame, so
 * that is kept in a register, and put back where it was on either side.
 *
 * With user shadow stacks (CET) the parent's return would find the child's addresses on the shadow
 * stack: not supported, and this object does not claim to be.
 */
#include <asm/unistd.h>

	.text
	.globl	vfork, __vfork, vfork_stub
	.hidden	vfork_stub
	.type	vfork, @function
	.type	__vfork, @function
	.type	vfork_stub, @function
vfork:
__vfork:
vfork_stub:
	.cfi_startproc
	endbr64
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	process_vfork_before
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	movzbl	%al, %esi
	/* The kernel keeps all but rax, rcx and r11. */
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl	$__NR_vfork, %eax
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	movq	%rax, %rdi
	jmp	process_vfork_after
	.cfi_endproc
	.size	vfork, . - vfork
	.size	__vfork, . - vfork
	.size	vfork_stub, . - vfork

	.section .note.GNU-stack, "", @progbits
