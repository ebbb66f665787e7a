/*
 * syscall: asks syscall_target() where to go, with a copy of the first six arguments, and goes there
 * with everything as it was.
 */
	.text
	.globl	syscall
	.type	syscall, @function
syscall:
	.cfi_startproc
	subl	$4, %esp
	.cfi_adjust_cfa_offset 4
	.rept	6
	pushl	28(%esp)
	.cfi_adjust_cfa_offset 4
	.endr
	call	syscall_target
	addl	$28, %esp
	.cfi_adjust_cfa_offset -28
	jmp	*%eax
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
