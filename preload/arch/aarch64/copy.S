/*
 * guard_copy(to, from, n), guard_touch(from, last, page): see guard.h. A leaf without a frame: wherever it is interrupted, the
 * return address is in x30 and the stack as it was, so the handler has only to go to
 * guard_copy_fault.
 *
 * Up to 128 bytes all is loaded before anything is stored, from both ends, which may overlap; above
 * that a loop of 64.
 */
	.text
	.globl	guard_copy, guard_touch, guard_copy_fault, guard_copy_end
	.hidden	guard_copy, guard_touch, guard_copy_fault, guard_copy_end
	.type	guard_touch, %function
	.type	guard_copy, %function
	.p2align 6
guard_copy:
	.cfi_startproc
	hint	#34 /* bti c */
	add	x4, x1, x2
	add	x5, x0, x2
	cmp	x2, #16
	b.lo	.Lbelow_16
	cmp	x2, #32
	b.hi	.Labove_32
	ldr	q0, [x1]
	ldr	q1, [x4, #-16]
	str	q0, [x0]
	str	q1, [x5, #-16]
	mov	w0, #1
	ret
.Labove_32:
	cmp	x2, #64
	b.hi	.Labove_64
	ldp	q0, q1, [x1]
	ldp	q2, q3, [x4, #-32]
	stp	q0, q1, [x0]
	stp	q2, q3, [x5, #-32]
	mov	w0, #1
	ret

.Lbelow_16:
	tbz	x2, #3, .Lbelow_8
	ldr	x6, [x1]
	ldr	x7, [x4, #-8]
	str	x6, [x0]
	str	x7, [x5, #-8]
	mov	w0, #1
	ret
.Lbelow_8:
	tbz	x2, #2, .Lbelow_4
	ldr	w6, [x1]
	ldr	w7, [x4, #-4]
	str	w6, [x0]
	str	w7, [x5, #-4]
	mov	w0, #1
	ret
.Lbelow_4:
	cbz	x2, .Ldone
	/* The first, the middle and the last byte, which may be the same. */
	lsr	x3, x2, #1
	ldrb	w6, [x1]
	ldrb	w7, [x1, x3]
	ldrb	w8, [x4, #-1]
	strb	w6, [x0]
	strb	w7, [x0, x3]
	strb	w8, [x5, #-1]
.Ldone:
	mov	w0, #1
	ret

.Labove_64:
	cmp	x2, #128
	b.hi	.Labove_128
	ldp	q0, q1, [x1]
	ldp	q2, q3, [x1, #32]
	ldp	q4, q5, [x4, #-64]
	ldp	q6, q7, [x4, #-32]
	stp	q0, q1, [x0]
	stp	q2, q3, [x0, #32]
	stp	q4, q5, [x5, #-64]
	stp	q6, q7, [x5, #-32]
	mov	w0, #1
	ret

.Labove_128:
	/* The last 64 bytes are stored apart. */
	ldp	q4, q5, [x4, #-64]
	ldp	q6, q7, [x4, #-32]
	sub	x3, x5, #64
.Lloop:
	ldp	q0, q1, [x1]
	ldp	q2, q3, [x1, #32]
	add	x1, x1, #64
	stp	q0, q1, [x0]
	stp	q2, q3, [x0, #32]
	add	x0, x0, #64
	cmp	x0, x3
	b.lo	.Lloop
	stp	q4, q5, [x3]
	stp	q6, q7, [x3, #32]
	mov	w0, #1
	ret

/* guard_touch(from, last, page) */
guard_touch:
	hint	#34 /* bti c */
	ldrb	w3, [x0]
	neg	x4, x2
	and	x0, x0, x4
.Ltouch:
	add	x0, x0, x2
	ldrb	w3, [x0]
	cmp	x0, x1
	b.lo	.Ltouch
	mov	w0, #1
	ret

guard_copy_fault:
	mov	w0, #0
	ret
guard_copy_end:
	.cfi_endproc
	.size	guard_copy, . - guard_copy

	.section .note.GNU-stack, "", %progbits
