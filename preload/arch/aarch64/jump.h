/* Where a jump leads to: glibc's sysdeps/aarch64/jmpbuf-offsets.h, and its PTR_MANGLE. */
#include <setjmp.h>
#include <stdint.h>
#include <ucontext.h>

/* What stack pointers are mangled with is ld.so's own. It shows where one is known. */
static __attribute__((noinline)) uintptr_t jump_guard(void)
{
	jmp_buf here;
	uintptr_t sp;

	__asm__ volatile("mov %0, sp" : "=r"(sp));
	/* Nobody jumps to it. */
	_setjmp(here);
	return (uintptr_t)here[0].__jmpbuf[13] ^ sp;
}

/* The stack pointer that longjmp would set. */
static inline uintptr_t jump_stack(const struct __jmp_buf_tag *where)
{
	return (uintptr_t)where->__jmpbuf[13] ^ jump_guard();
}

/* The same of a context. */
static inline uintptr_t jump_context_stack(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.sp;
}
