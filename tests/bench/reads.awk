# The table of small reads, from the rows of readone (use: awk -f stats.awk -f reads.awk FILE).

BEGIN {
	FS = "\t"
}

{
	key = $2 " " $3
	if ($2 != "copy" && !(key in seen)) {
		seen[key] = 1
		order[++keys] = key
	}
	ns[$1, key, ++count[$1, key]] = $4
}

function middle(label, key,    i, n, x) {
	n = count[label, key]
	for (i = 1; i <= n; i++)
		x[i] = ns[label, key, i]
	sort(x, n)
	return n ? median(x, n) : 0
}

END {
	print "| read | bytes | native, ns | with the library, ns | times less (range) | memcpy from a mapping, ns |"
	print "|---|---:|---:|---:|---:|---:|"
	for (k = 1; k <= keys; k++) {
		split(order[k], part, " ")
		n = count["native", order[k]]
		for (i = 1; i <= n; i++)
			x[i] = ns["native", order[k], i] / ns["coalesced", order[k], i]
		sort(x, n)
		printf "| %s | %s |", part[1] == "read" ? "`lseek`, `read`" : "`pread`", show(part[2])
		printf " %s | %s |", show(middle("native", order[k])), show(middle("coalesced", order[k]))
		printf " %s (%s–%s) |", show(median(x, n)), show(x[1]), show(x[n])
		printf " %s |\n", show(middle("native", "copy " part[2]))
	}
}
