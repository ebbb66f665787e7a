/*
 * The exported names: what only has to step aside. The functions themselves are assembly
 * (arch/MACHINE/step.S): while nothing is pending they jump to the next definition, else they come
 * here first. So functions with variable arguments need no second form, and each is a row.
 */
#include "entry_step.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "aside.h"
#include "entry.h"
#include "entry_process.h"
#include "stream.h"

static const uint8_t steps[HOOK_COUNT] = {
#define HOOK(ret, name, params, fallback)
#define NEWFD(name, params, args, fallback)
#define STEP(name, what, fallback) [HOOK_##name] = STEP_##what,
#include "hooks.def"
};

static void step_descriptor(uintptr_t argument, bool writes)
{
	aside_tell_fd((int)argument, ASIDE_SEEN);
	if (writes)
		aside_tell_bytes();
}

static void step_std(void)
{
	stream_step(stdin, false);
	stream_step(stdout, true);
	stream_step(stderr, true);
}

static void step_messages(const struct msghdr *message, unsigned int count, size_t stride)
{
	aside_tell_bytes();
	for (; message != NULL && count > 0; count--) {
		if (message->msg_controllen != 0)
			aside_tell_all(ASIDE_SHARED);
		message = (const struct msghdr *)(const void *)((const char *)message + stride);
	}
}

static void step(enum step what, const uintptr_t *arguments)
{
	switch (what) {
	case STEP_IN0:
	case STEP_IN1:
	case STEP_IN2:
	case STEP_IN3:
		stream_step((FILE *)arguments[what - STEP_IN0], false);
		break;
	case STEP_OUT0:
	case STEP_OUT1:
		stream_step((FILE *)arguments[what - STEP_OUT0], true);
		break;
	case STEP_KEEP1:
		aside_tell_fd(fileno_unlocked((FILE *)arguments[1]), ASIDE_SHARED);
		break;
	case STEP_STDIN:
		/* It may wait for somebody, who may look meanwhile. */
		stream_step(stdin, true);
		break;
	case STEP_STDOUT:
		stream_step(stdout, true);
		break;
	case STEP_STD:
		step_std();
		break;
	case STEP_FD_OUT01:
		step_descriptor(arguments[1], false);
		step_descriptor(arguments[0], true);
		break;
	case STEP_FD_OUT02:
		step_descriptor(arguments[2], false);
		step_descriptor(arguments[0], true);
		break;
	case STEP_FD_OUT0:
		step_descriptor(arguments[0], true);
		break;
	case STEP_LOOK0:
	case STEP_LOOK1:
		aside_tell_fd((int)arguments[what - STEP_LOOK0], ASIDE_LOOKED);
		break;
	case STEP_BYTES:
		aside_tell_bytes();
		break;
	case STEP_MESSAGE1:
		step_messages((const struct msghdr *)arguments[1], 1, sizeof(struct msghdr));
		break;
	case STEP_MESSAGES1:
		step_messages((const struct msghdr *)arguments[1], (unsigned int)arguments[2],
			      sizeof(struct mmsghdr));
		break;
	case STEP_ALL:
		aside_tell_all(ASIDE_SEEN);
		break;
	case STEP_FLUSH:
		stream_step_all();
		break;
	case STEP_SHARE:
		aside_tell_all(ASIDE_SHARED);
		break;
	case STEP_PRCTL:
		if ((int)arguments[0] == PR_SET_SECCOMP)
			process_enters_sandbox();
		break;
	case STEP_END:
		stream_finish();
		break;
	}
}

/* What the assembly knows by number. */
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(offsetof(FILE, _fileno) == 112, "FILENO in arch/MACHINE/step.S");
#else
_Static_assert(offsetof(FILE, _fileno) == 56, "FILENO in arch/MACHINE/step.S");
#endif
_Static_assert(ASIDE_NUMBERS == 65536, "NUMBERS in arch/MACHINE/step.S");

/* What the assembly calls: a hook's number, the first six arguments, as far as they are integers or
 * pointers; answers with the definition to go on with. */
any_function step_aside(enum hook hook, const uintptr_t *arguments)
	__attribute__((visibility("hidden")));

any_function step_aside(enum hook hook, const uintptr_t *arguments)
{
	int saved = errno;

	if (!tls.vfork_child)
		step((enum step)steps[hook], arguments);
	errno = saved;
	return next_of(hook);
}
