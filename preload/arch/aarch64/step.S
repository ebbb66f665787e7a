/*
 * The functions of the rows STEP: each jumps to its next definition if nothing is pending, else
 * step_aside() has a look first, with the arguments that came in registers. Everything is then as it
 * was; x8 is where a structure is to be returned.
 */
	.macro	step name, what
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	hint	#34 /* bti c */
	/* What is for good is so whether something is pending or not. */
	.ifnc	\what, SHARE
	.ifnc	\what, KEEP1
	.ifnc	\what, MESSAGE1
	.ifnc	\what, MESSAGES1
	adrp	x16, aside_pending
	ldr	w16, [x16, :lo12:aside_pending]
	cbnz	w16, 1f
	adrp	x16, next+8*hook_number
	ldr	x16, [x16, :lo12:next+8*hook_number]
	cbz	x16, 1f
	br	x16
	.endif
	.endif
	.endif
	.endif
1:	mov	w17, #hook_number
	b	step_slowly
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	.type	step_slowly, %function
step_slowly:
	.cfi_startproc
	stp	x29, x30, [sp, #-224]!
	.cfi_adjust_cfa_offset 224
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	str	x8, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	mov	w0, w17
	add	x1, sp, #16
	bl	step_aside
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldr	x8, [sp, #80]
	ldp	q0, q1, [sp, #96]
	ldp	q2, q3, [sp, #128]
	ldp	q4, q5, [sp, #160]
	ldp	q6, q7, [sp, #192]
	ldp	x29, x30, [sp], #224
	.cfi_adjust_cfa_offset -224
	.cfi_restore x29
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	step_slowly, . - step_slowly

	.set	hook_number, 0
#define HOOK(ret, name, params, fallback) .set hook_number, hook_number + 1;
#define NEWFD(name, params, args, fallback) .set hook_number, hook_number + 1;
#define STEP(name, what, fallback) step name, what; .set hook_number, hook_number + 1;
#include "hooks.def"

	.section .note.GNU-stack, "", %progbits
