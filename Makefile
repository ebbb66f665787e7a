# Needs GNU make 4.3, a C compiler, and nothing else. `make help` lists targets and variables.

VERSION = 0.1.0

ifeq ($(origin CC),default)
CC := $(if $(filter aarch64,$(ARCH)),aarch64-linux-gnu-)gcc
endif
TRIPLET := $(shell $(CC) -dumpmachine | sed 's/^i[3-6]86-/i386-/')
MACHINE := $(firstword $(subst -, ,$(TRIPLET)))
ARCH ?= $(MACHINE)
FOREIGN := $(filter-out $(shell uname -m | sed 's/^i[3-6]86$$/i386/'),$(ARCH))
CFLAGS ?= -O2 -g
SANITIZE ?=
PREFIX ?= /usr/local
# Where this compiler's system keeps libraries of its own machine: /usr/lib/x86_64-linux-gnu or /usr/lib.
MULTIARCH := $(shell $(CC) $(if $(filter i386,$(ARCH)),-m32) -print-multiarch 2>/dev/null)
LIBDIR ?= $(PREFIX)/lib$(MULTIARCH:%=/%)
# The 32-bit library of `make both` goes beside it, where ld.so finds it as $LIB.
LIBDIR_OTHER = $(if $(MULTIARCH),$(PREFIX)/lib/i386-linux-gnu,/nowhere)
LIBEXECDIR ?= $(PREFIX)/libexec/mapfast
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
BUILD ?= build

# One word a step; everything under V=1, nothing under -s.
ifeq ($(V),1)
run =
else ifneq ($(findstring s,$(filter-out --%,$(firstword $(MAKEFLAGS)))),)
run = @
else
run = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(CURDIR)/%,%,$@)';
endif

# What was typed, for the tests and for sub-makes: the compiler with the flags that choose a machine.
MACHINE_FLAGS := $(if $(filter i386,$(ARCH)),$(if $(filter x86_64,$(MACHINE)),-m32))
COMPILER := $(strip $(CC) $(MACHINE_FLAGS))

# -U_FORTIFY_SOURCE: the fortified inlines would define or call the very names that are hooked.
# -fasynchronous-unwind-tables: thread cancellation unwinds through our frames, on every machine.
# -fstack-usage: tests/symbols/shape.sh reads it.
LIB_CFLAGS = -std=gnu11 -Wall -Wextra -Wpedantic -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-fasynchronous-unwind-tables -fstack-usage -U_FORTIFY_SOURCE -D_GNU_SOURCE -DMC_VERSION='"$(VERSION)"' \
	-Ipreload
# noexecstack: one assembly file without its .note.GNU-stack section would otherwise make the stack
# of every program executable. Bsymbolic-functions: the address of a hook, where next.c compares it
# with a next definition, is that of ours, even behind another preload that has the same name.
LIB_LDFLAGS = -shared -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,-Bsymbolic-functions \
	-Wl,--version-script=$(BUILD)/exports.map -Wl,-soname,libmapcoalesce.so
LIB_LIBS = -ldl

C_SOURCES := $(wildcard preload/*.c)
ASM_SOURCES := $(wildcard preload/arch/$(ARCH)/*.S)
OBJS = $(C_SOURCES:preload/%.c=%.o) $(ASM_SOURCES:preload/arch/$(ARCH)/%.S=%.o)

# The unit tests call the modules directly; the exported names must not interpose the tests.
UNIT_EXCLUDE = $(wildcard preload/entry_*.c) preload/next.c preload/main.c
UNIT = $(BUILD)/$(if $(SANITIZE),sanitize-$(SANITIZE),unit)$(FOREIGN:%=-%)
UNIT_CFLAGS = -DMC_UNIT_TEST -DMC_CHECK \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
UNIT_OBJS = $(patsubst preload/%.c,$(UNIT)/objs/%.o,$(filter-out $(UNIT_EXCLUDE),$(C_SOURCES))) \
	$(UNIT)/objs/copy.o
UNIT_SUPPORT = $(patsubst tests/unit/%.c,$(UNIT)/objs/%.o,$(wildcard tests/unit/support/*.c))
UNIT_TESTS = $(patsubst tests/unit/%.c,$(UNIT)/%,$(wildcard tests/unit/*.c))

PROGRAMS := $(patsubst tests/programs/%.c,%,$(wildcard tests/programs/*.c))
PROGRAMS := $(PROGRAMS:%_so=%_so.so)
MAN_PAGES := $(wildcard preload/*.[1-8])

# What the launcher and the manual pages are told of this build.
BUILT = $(TRIPLET:$(MACHINE)-%=$(ARCH)-%), $(notdir $(firstword $(CC))) $(shell $(CC) -dumpversion)
EXPAND = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|g' \
	-e 's|@BUILD@|$(BUILT)|g' \
	-e "s|@GLIBC@|$$($(NEEDED))|g"
# The newest glibc that the library's symbols are from.
NEEDED = nm -D --undefined-only $(BUILD)/libmapcoalesce.so | \
	sed -n 's/.*@\{1,2\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1
TEST_ENV = BUILD='$(abspath $(BUILD))' UNIT='$(abspath $(UNIT))' CC='$(COMPILER)' ARCH='$(ARCH)'

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all both demo check check-suites fuzz mutants bench lint format install uninstall dist clean help \
	unit-tests test-programs FORCE

all: $(BUILD)/libmapcoalesce.so $(BUILD)/mapfast $(BUILD)/mapfast-compare

both: all
	$(MAKE) ARCH=i386 BUILD=$(BUILD)/i386 $(BUILD)/i386/libmapcoalesce.so

# A stamp holds the words that a directory of objects was made with, and so makes it anew when they
# change. The list of sources is among them, for the sake of those that were removed.
stamp = $(run_stamp)mkdir -p $(@D) && printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || \
	printf '%s\n' '$(subst ','\'',$(1))' >$@
run_stamp = $(if $(filter 1,$(V)),,@)

$(BUILD)/objs/flags $(BUILD)/test-objs/flags: FORCE
	$(call stamp,$(COMPILER) $(CFLAGS) $(LDFLAGS) $(LIB_CFLAGS) $(LIB_LDFLAGS) $(OBJS))
$(UNIT)/objs/flags: FORCE
	$(call stamp,$(COMPILER) $(CFLAGS) $(LDFLAGS) $(LIB_CFLAGS) $(UNIT_CFLAGS) $(UNIT_OBJS))
$(BUILD)/mapfast.flags: FORCE
	$(call stamp,$(VERSION) $(PREFIX) $(LIBDIR) $(LIBEXECDIR) $(BUILT))
$(BUILD)/tests/flags: FORCE
	$(call stamp,$(COMPILER))

# $(call objects,DIRECTORY,FLAGS): how a directory of library objects is made.
define objects
$(1)/%.o: preload/%.c $(1)/flags
	$$(call run,CC)$$(COMPILER) $$(LIB_CFLAGS) $(2) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(1)/%.o: preload/arch/$(ARCH)/%.S $(1)/flags
	$$(call run,AS)$$(COMPILER) $$(LIB_CFLAGS) $(2) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
-include $(wildcard $(1)/*.d)
endef
$(eval $(call objects,$(BUILD)/objs,))
$(eval $(call objects,$(BUILD)/test-objs,-DMC_TEST_POINTS -DMC_CHECK))
$(eval $(call objects,$(UNIT)/objs,$(UNIT_CFLAGS)))

# Anonymous: a named version node would give the names a version of ours, and the dynamic linker
# would no longer take them in place of libc's.
$(BUILD)/exports.map: preload/hooks.def tests/symbols/names $(BUILD)/objs/flags
	$(call run,MAP){ echo '{ global:' && CC='$(COMPILER)' tests/symbols/names | sed 's/$$/;/' && \
		echo 'local: *; };'; } >$@

$(BUILD)/libmapcoalesce.so: $(addprefix $(BUILD)/objs/,$(OBJS)) $(BUILD)/exports.map
	$(call run,LINK)$(COMPILER) $(CFLAGS) $(LIB_LDFLAGS) $(LDFLAGS) -o $@ \
		$(filter %.o,$^) $(LIB_LIBS)

$(BUILD)/mapfast: preload/mapfast.in $(BUILD)/mapfast.flags $(BUILD)/libmapcoalesce.so
	$(call run,SCRIPT)$(EXPAND) $< >$@ && chmod 755 $@

$(BUILD)/mapfast-compare: preload/libexec/compare.c $(BUILD)/mapfast.flags
	$(call run,CC)$(COMPILER) -std=gnu11 -Wall -Wextra -Wpedantic -Werror $(CFLAGS) $(LDFLAGS) -o $@ $<

# Tests. What they are made of is left out of `all`: it needs cmocka.

$(BUILD)/tests/libmapcoalesce-test.so: $(addprefix $(BUILD)/test-objs/,$(OBJS)) \
		$(BUILD)/exports.map $(BUILD)/tests/flags
	$(call run,LINK)$(COMPILER) $(CFLAGS) $(LIB_LDFLAGS) $(LDFLAGS) -o $@ \
		$(filter %.o,$^) $(LIB_LIBS)

# cmocka's test functions take an argument that few of them use.
UNIT_BUILD = $(COMPILER) $(LIB_CFLAGS) -Wno-unused-parameter -Itests/unit/support $(UNIT_CFLAGS) \
	$(CFLAGS) -pthread -MMD -MP
$(UNIT_SUPPORT): $(UNIT)/objs/%.o: tests/unit/%.c $(UNIT)/objs/flags
	$(call run,CC)mkdir -p $(@D) && $(UNIT_BUILD) -c -o $@ $<
$(UNIT_TESTS): $(UNIT)/%: tests/unit/%.c $(UNIT_SUPPORT) $(UNIT_OBJS) $(UNIT)/objs/flags
	$(call run,UNIT)$(UNIT_BUILD) -MT $@ -MF $@.d $(LDFLAGS) -o $@ $< $(UNIT_SUPPORT) \
		$(UNIT_OBJS) -lcmocka $(LIB_LIBS)

# A program's first line may ask for more flags: /* build: -shared -fPIC */. NAME_so.c becomes
# NAME_so.so.
program = $(call run,PROGRAM)$(COMPILER) -O1 -g -Wall -pthread -MMD -MP -MT $@ -MF $@.d -o $@ $< \
	$$(sed -n '1s|^/\* build: \(.*\) \*/.*|\1|p' $<)
$(BUILD)/tests/%_so.so: tests/programs/%_so.c $(BUILD)/tests/flags
	$(program)
$(BUILD)/tests/%: tests/programs/%.c $(BUILD)/tests/flags
	$(program)

$(BUILD)/tests/differ: $(wildcard tests/diff/*.[ch]) $(BUILD)/tests/flags
	$(call run,PROGRAM)$(COMPILER) -O1 -g -Wall -pthread -o $@ $(filter %.c,$^)

DIFF_SHARED = $(patsubst %,tests/diff/%.c,fault peer random script)
$(BUILD)/tests/stdiffer: $(wildcard tests/diff/streams/*.[ch]) $(DIFF_SHARED) tests/diff/script.h \
		$(BUILD)/tests/flags
	$(call run,PROGRAM)$(COMPILER) -O1 -g -Wall -pthread -o $@ $(filter %.c,$^)

-include $(wildcard $(UNIT)/*.d $(UNIT)/objs/support/*.d $(BUILD)/tests/*.d)

unit-tests: $(UNIT_TESTS)
test-programs: $(addprefix $(BUILD)/tests/,$(PROGRAMS) differ stdiffer libmapcoalesce-test.so)

# With SANITIZE, only the unit tests are built differently. For a foreign machine they run under qemu
# (tests/runner), and no program of this system could be preloaded.
CHECK = $(if $(SANITIZE),unit/*,$(if $(FOREIGN),unit/* symbols/* e2e/smoke))
check: all
	@tests/setup check
	@if echo 'int main(void) { return 0; }' | \
			$(COMPILER) -x c -o /dev/null - -lcmocka 2>/dev/null; \
		then goals='unit-tests test-programs'; \
		else goals=test-programs; echo 'no cmocka$(FOREIGN:%= for %: tests/setup %): unit tests left out'; fi; \
		$(MAKE) --no-print-directory $$goals
	@$(TEST_ENV) RUNNER="$$($(TEST_ENV) tests/runner)" tests/run $(foreach test,$(or $(TESTS),$(CHECK)),'$(test)')

check-suites: all
	@$(TEST_ENV) tests/suites/run $(SUITES)

demo: all
	@BUILD='$(abspath $(BUILD))' examples/ld/run
	@BUILD='$(abspath $(BUILD))' examples/gold/run
	@echo 'More: make -C examples/maps run, and so in examples/reads and examples/gc.'

# Random operations, compared (tests/diff/run), with seeds from the clock: on mappings for one half of
# the time, on streams for the other.
SECONDS = 60
HALF = $$(($(SECONDS) / 2))
fuzz: all test-programs
	@$(TEST_ENV) tests/diff/run -s $(HALF)
	@$(TEST_ENV) tests/diff/run -S -s $(HALF)

# Whether the tests see what they are for: the library with one fault at a time.
mutants: all test-programs
	@$(TEST_ENV) tests/mutants/run

bench: all
	@tests/setup check bench
	@$(TEST_ENV) tests/bench/run $(BENCH)

# hooks.def is a table, and not formatted. Test programs and benchmarks stand alone, and say themselves
# that they want _GNU_SOURCE.
LINT_C := $(wildcard preload/*.c tests/unit/*.c tests/unit/support/*.c)
LINT_PROGRAMS := $(wildcard preload/libexec/*.c tests/programs/*.c tests/bench/*.c tests/diff/*.c \
	tests/diff/streams/*.c examples/*/*.c)
LINT_H := $(wildcard preload/*.h preload/arch/*/*.h tests/*/*.h tests/diff/streams/*.h tests/unit/support/*.h)
LINT_FLAGS = -std=gnu11 -D_GNU_SOURCE -DMC_VERSION='"$(VERSION)"' -DMC_UNIT_TEST -DMC_CHECK -Ipreload \
	-Itests/unit/support
tidy = printf '%s\n' $(1) | xargs -r -P 2 -I @ clang-tidy --quiet @ -- $(2) 2>$(BUILD)/tidy.log || \
	{ grep -v ' generated\.$$' $(BUILD)/tidy.log; exit 1; }
lint:
	$(call run,FORMAT)clang-format --dry-run -Werror $(LINT_C) $(LINT_PROGRAMS) $(LINT_H)
	$(call run,SHELL)shellcheck -x -P SCRIPTDIR $$(grep -rlIE '^#!(/usr)?/bin/(env )?(ba)?sh' \
		.ci preload tests $(wildcard examples) | sort) $(wildcard tests/*.sh)
	$(call run,CPPCHECK)cppcheck '-DElfW(type)=Elf64_##type' --quiet --error-exitcode=1 \
		--inline-suppr --std=c11 \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		-D__x86_64__ -D__LP64__ $(filter -D% -I%,$(LINT_FLAGS)) $(LINT_C) $(LINT_PROGRAMS)
	$(call run,TIDY)mkdir -p $(BUILD) && $(call tidy,$(LINT_C),$(LINT_FLAGS))
	$(call run,TIDY)$(call tidy,$(LINT_PROGRAMS),-std=gnu11)

format:
	$(call run,FORMAT)clang-format -i $(LINT_C) $(LINT_PROGRAMS) $(LINT_H)

# DESTDIR is where it is put, PREFIX where it will be found. `uninstall` removes the same list, and the
# directories that were made for it: libexec/directories keeps a list of those.
man = $(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
OTHER = $(wildcard $(BUILD)/i386/libmapcoalesce.so)
INSTALLED = $(LIBDIR)/libmapcoalesce.so $(PREFIX)/bin/mapfast $(LIBEXECDIR)/mapfast-compare \
	$(BASHDIR)/mapfast $(ZSHDIR)/_mapfast $(foreach page,$(MAN_PAGES),$(call man,$(page)))
DIRECTORIES = preload/libexec/directories '$(DESTDIR)$(LIBEXECDIR)'
install: all
	$(call run,INSTALL)$(DIRECTORIES) make $(patsubst %/,'$(DESTDIR)%',$(sort $(dir $(INSTALLED)))) \
			$(OTHER:%='$(DESTDIR)$(LIBDIR_OTHER)') && \
		install -m 644 $(BUILD)/libmapcoalesce.so '$(DESTDIR)$(LIBDIR)/' && \
		install -m 755 $(BUILD)/mapfast '$(DESTDIR)$(PREFIX)/bin/' && \
		install -m 755 $(BUILD)/mapfast-compare '$(DESTDIR)$(LIBEXECDIR)/' && \
		install -m 644 preload/completion/mapfast '$(DESTDIR)$(BASHDIR)/' && \
		install -m 644 preload/completion/_mapfast '$(DESTDIR)$(ZSHDIR)/' \
		$(if $(OTHER),&& install -m 644 $(OTHER) '$(DESTDIR)$(LIBDIR_OTHER)/') \
		$(foreach page,$(MAN_PAGES),&& $(EXPAND) $(page) >'$(DESTDIR)$(call man,$(page))' \
			&& chmod 644 '$(DESTDIR)$(call man,$(page))')

uninstall:
	$(call run,REMOVE)rm -f $(patsubst %,'$(DESTDIR)%',$(INSTALLED) $(LIBDIR_OTHER)/libmapcoalesce.so) && \
		$(DIRECTORIES) remove

dist:
	$(call run,DIST)mkdir -p $(BUILD) && git archive --prefix=libmapcoalesce-$(VERSION)/ \
		-o $(BUILD)/libmapcoalesce-$(VERSION).tar.gz HEAD

clean:
	$(call run,CLEAN)rm -rf $(BUILD)

help:
	@printf '%s\n' \
		'make                build/libmapcoalesce.so and build/mapfast, ready to use' \
		'make both           for 32-bit programs too (gcc -m32); install takes both' \
		'make demo           link real input with and without the library, GNU ld and gold' \
		'make check          all tests; TESTS="unit/* e2e/close*" selects' \
		'make check-suites   test suites of other projects, under the library' \
		'make fuzz           random operations, native against preloaded, for SECONDS=60' \
		'make mutants        do the tests see faults that are put in?' \
		'make bench          measure: tables and plots in build/bench, in less than 20 minutes;' \
		'                    BENCH="--publish" puts the plots into the README, BENCH="ld maps" selects' \
		'make lint           format and static checks' \
		'make format         make the sources pass the first of them' \
		'make install        into PREFIX (/usr/local), LIBDIR ($(LIBDIR)), below DESTDIR' \
		'make uninstall      remove exactly that' \
		'make dist           build/libmapcoalesce-$(VERSION).tar.gz from the last commit' \
		'make clean          remove build/' \
		'' \
		'CC=clang CFLAGS="-O2 -g" ARCH=x86_64|i386|aarch64 BUILD=directory V=1' \
		'SANITIZE=address|thread|undefined   (unit tests only)'
