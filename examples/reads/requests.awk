# The table of `scan`, from its rows (use: awk -v format=plain|markdown|data -f stats.awk -f
# requests.awk FILE): medians, in MB/s. `data` is for gnuplot: blocks of fgrep and md5, warm and cold.

BEGIN {
	FS = "\t"
}

{
	key = $3 " " $4 " " $5
	if (!(($3, $4, $5) in seen)) {
		seen[$3, $4, $5] = 1
		order[++keys] = key
	}
	rate[$1, key, ++count[$1, key]] = $7
}

function middle(label, key,    i, n, x) {
	n = count[label, key]
	for (i = 1; i <= n; i++)
		x[i] = rate[label, key, i]
	sort(x, n)
	return n ? median(x, n) : 0
}

function block(what, heat,    k, part) {
	if (format == "markdown") {
		printf "\n| `%s`, %s: bytes a request | read, MB/s | mmap, MB/s | read with the library, MB/s |" \
			" times as fast |\n|---:|---:|---:|---:|---:|\n", what, heat
	} else if (format == "plain") {
		printf "\n%-24s %12s %12s %22s %14s\n", what ", " heat ", MB/s", "read", "mmap",
			"read under mapfast", "times as fast"
	}
	for (k = 1; k <= keys; k++) {
		split(order[k], part, " ")
		if (part[1] != what || part[2] != heat)
			continue
		a = middle("read", order[k])
		b = middle("mmap", order[k])
		c = middle("coalesced", order[k])
		if (format == "data")
			print part[3], a, b, c
		else
			printf format == "markdown" ? "| %s | %s | %s | %s | %s |\n" : \
				"%-24s %12s %12s %22s %14s\n", show(part[3]), show(a), show(b), show(c), show(c / a)
	}
	if (format == "data")
		print "\n"
}

END {
	block("fgrep", "warm")
	block("fgrep", "cold")
	block("md5", "warm")
	block("md5", "cold")
}
