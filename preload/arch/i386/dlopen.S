/*
 * dlopen(path, flags): asks dlopen_target() where to go and with which flags, and goes there with the
 * caller's return address in its place. The arguments' place on the stack belongs to the function
 * that is called, so the flags are changed there.
 */
	.text
	.globl	dlopen
	.type	dlopen, @function
dlopen:
	.cfi_startproc
	leal	8(%esp), %eax
	subl	$4, %esp
	.cfi_adjust_cfa_offset 4
	pushl	%eax
	.cfi_adjust_cfa_offset 4
	pushl	12(%esp)
	.cfi_adjust_cfa_offset 4
	call	dlopen_target
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	jmp	*%eax
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
