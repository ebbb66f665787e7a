/* Where a jump leads to: glibc's sysdeps/x86_64/jmpbuf-offsets.h, and its PTR_MANGLE. */
#include <setjmp.h>
#include <stdint.h>
#include <ucontext.h>

/* The stack pointer that longjmp would set. */
static inline uintptr_t jump_stack(const struct __jmp_buf_tag *where)
{
	uintptr_t sp = (uintptr_t)where->__jmpbuf[6];

	__asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(sp) : : "cc");
	return sp;
}

/* The same of a context. */
static inline uintptr_t jump_context_stack(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
