/*
 * vfork: the system call itself, for a C function can't return twice from one frame. The child runs
 * on its parent's stack and overwrites the return address that stands below the caller's frame, so
 * that is kept in a register, and put back where it was on either side.
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
	subl	$12, %esp
	.cfi_adjust_cfa_offset 12
	call	process_vfork_before
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	movzbl	%al, %edx
	/* The kernel keeps all but eax. */
	popl	%ecx
	.cfi_adjust_cfa_offset -4
	.cfi_register %eip, %ecx
	movl	$__NR_vfork, %eax
	int	$0x80
	pushl	%ecx
	.cfi_adjust_cfa_offset 4
	.cfi_offset %eip, -4
	subl	$4, %esp
	.cfi_adjust_cfa_offset 4
	pushl	%edx
	.cfi_adjust_cfa_offset 4
	pushl	%eax
	.cfi_adjust_cfa_offset 4
	call	process_vfork_after
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	ret
	.cfi_endproc
	.size	vfork, . - vfork
	.size	__vfork, . - vfork
	.size	vfork_stub, . - vfork

	.section .note.GNU-stack, "", @progbits
