/*
 * dlopen(path, flags): asks dlopen_target() where to go and with which flags, and goes there with the
 * caller's return address in its place.
 */
	.text
	.globl	dlopen
	.type	dlopen, %function
dlopen:
	.cfi_startproc
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	str	x0, [sp, #16]
	str	w1, [sp, #24]
	add	x1, sp, #24
	bl	dlopen_target
	mov	x16, x0
	ldr	x0, [sp, #16]
	ldr	w1, [sp, #24]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", %progbits
