/*
 * What each kind of row STEP looks at, for the assembly of each machine (arch/MACHINE/step.S), which
 * has the macros. entry_step.h says what the kinds are.
 */
	.macro	row_IN0
	check_file 0
	.endm
	.macro	row_IN1
	check_file 1
	.endm
	.macro	row_IN2
	check_file 2
	.endm
	.macro	row_IN3
	check_file 3
	.endm
	.macro	row_OUT0
	check_file 0
	check_bytes
	.endm
	.macro	row_OUT1
	check_file 1
	check_bytes
	.endm
	.macro	row_STDIN
	check_std stdin
	check_bytes
	.endm
	.macro	row_STDOUT
	check_std stdout
	check_bytes
	.endm
	.macro	row_FD_OUT0
	check_number 0
	check_bytes
	.endm
	.macro	row_LOOK0
	check_number 0
	.endm
	.macro	row_LOOK1
	check_number 1
	.endm
	.macro	row_BYTES
	check_bytes
	.endm
	.macro	row_ALL
	check_all
	.endm
	.macro	row_FLUSH
	check_all
	.endm
	.macro	row_STD
	check_all
	.endm
	.macro	row_FD_OUT01
	check_all
	.endm
	.macro	row_FD_OUT02
	check_all
	.endm
	.macro	row_SHARE
	check_nothing
	.endm
	.macro	row_KEEP1
	check_nothing
	.endm
	.macro	row_MESSAGE1
	check_nothing
	.endm
	.macro	row_MESSAGES1
	check_nothing
	.endm
	.macro	row_PRCTL
	check_nothing
	.endm
	.macro	row_END
	check_nothing
	.endm
