# The big link: 250 archives of LLVM and clang, 440 MB, whole, into a shared object of 216 MB. Sourced
# by the benchmarks of linkers.
# shellcheck shell=sh disable=SC2034,SC2154

llvm=${LLVM_LIBDIR:-/usr/lib/llvm-14/lib}

if [ ! -e "$llvm/libclangSema.a" ] && [ -x "$root/tests/setup" ]; then
	say "installing the archives to link (tests/setup bench)"
	"$root/tests/setup" bench >&2 || true
fi
if ! [ -e "$llvm/libclangSema.a" ] || ! [ -e "$llvm/libLLVMCodeGen.a" ]; then
	say "no archives in $llvm (apt-get install llvm-14-dev libclang-14-dev)"
	exit 77
fi

# Some large ones of the archives, one a line.
few_archives() {
	for archive in LLVMCodeGen LLVMAnalysis LLVMSupport clangBasic clangLex; do
		echo "$llvm/lib$archive.a"
	done
}

# All of them, or for a quick run a few.
archives() {
	if $quick; then
		few_archives
	else
		find "$llvm" -maxdepth 1 -name 'libclang*.a' -o -name 'libLLVM*.a' | LC_ALL=C sort |
			grep -v -e Testing -e Exegesis -e TableGenGlobalISel -e '/libclang\.a$'
	fi
}

crt=$(compiler -print-file-name=crti.o)
crt_begin=$(compiler -print-file-name=crtbeginS.o)
crt_end=$(compiler -print-file-name=crtendS.o)
crt_last=$(compiler -print-file-name=crtn.o)

# unpack: the archives' members as files, a folder for each archive; their names are in $objects.
unpack() {
	members=$work/members$(pick '' -quick)
	objects=$members/list
	[ ! -e "$objects" ] || return 0
	say "unpacking the archives"
	rm -rf "$members"
	archives | while read -r archive; do
		folder=$members/$(basename "$archive" .a)
		mkdir -p "$folder"
		(cd "$folder" && ar x "$archive")
	done
	find "$members" -name '*.o' | LC_ALL=C sort >"$objects.part"
	mv "$objects.part" "$objects"
}
