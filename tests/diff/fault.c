/* Loads and stores that may fault. */
#include "script.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

/* Where a fault of this thread continues; NULL outside of copy_guarded. */
static __thread sigjmp_buf *fault_jump;

static void on_fault(int number)
{
	if (fault_jump == NULL) {
		/* Not ours: die of it. */
		signal(number, SIG_DFL);
		return;
	}
	siglongjmp(*fault_jump, number);
}

void fault_begin(void)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

int copy_guarded(void *to, const void *from, size_t n)
{
	sigjmp_buf here;
	sigjmp_buf *before = fault_jump;
	int number;

	/* The signal stays unblocked (SA_NODEFER), so the mask need not be saved. A handler that
	 * interrupts us may come here too. */
	number = sigsetjmp(here, 0);
	if (number == 0) {
		*(sigjmp_buf *volatile *)&fault_jump = &here;
		memcpy(to, from, n);
	}
	fault_jump = before;
	return number;
}
