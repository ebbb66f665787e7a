/*
 * The functions of the rows STEP: each jumps to its next definition if nothing is pending of what it
 * is about (aside.h), else step_aside() has a look first, with the arguments that came in registers.
 * Everything is then as it was; x8 is where a structure is to be returned.
 */
#define FILENO 112 /* of struct _IO_FILE; entry_step.c looks whether it is */

	/* All of these: to 1 if step_aside() has to have a look. Mostly nothing is pending at all.
	 * ASIDE_NUMBERS is 1 << 16. */
	.macro	check_kept
	lsr	w17, w16, #16
	cbnz	w17, 2f
	adrp	x17, aside_kept
	add	x17, x17, :lo12:aside_kept
	ldrb	w17, [x17, w16, uxtw]
	cbnz	w17, 1f
2:
	.endm

	/* A FILE that is none is libc's affair. */
	.macro	check_file number
	adrp	x16, aside_pending
	ldr	w16, [x16, :lo12:aside_pending]
	cbz	w16, 3f
	cbz	x\number, 3f
	ldr	w16, [x\number, #FILENO]
	check_kept
3:
	.endm

	.macro	check_number number
	adrp	x16, aside_pending
	ldr	w16, [x16, :lo12:aside_pending]
	cbz	w16, 2f
	mov	w16, w\number
	check_kept
	.endm

	.macro	check_bytes
	adrp	x16, aside_files
	ldr	w16, [x16, :lo12:aside_files]
	cbnz	w16, 1f
	.endm

	.macro	check_std pointer
	adrp	x16, :got:\pointer
	ldr	x16, [x16, :got_lo12:\pointer]
	ldr	x16, [x16]
	ldr	w16, [x16, #FILENO]
	check_kept
	.endm

	.macro	check_all
	adrp	x16, aside_pending
	ldr	w16, [x16, :lo12:aside_pending]
	cbnz	w16, 1f
	check_bytes
	.endm

	.macro	check_nothing
	b	1f
	.endm

#include "../step_rows.h"

	.macro	step name, what
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	hint	#34 /* bti c */
	row_\what
	adrp	x16, next+8*hook_number
	ldr	x16, [x16, :lo12:next+8*hook_number]
	cbz	x16, 1f
	br	x16
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
