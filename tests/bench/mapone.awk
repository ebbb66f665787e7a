# The table of the benchmark mapone, from its rows (use: awk -f stats.awk -f mapone.awk mapone.tsv).

BEGIN {
	FS = "\t"
	configs = split("1 1,2 2,2 1", config, ",")
}

NR > 1 {
	key = $1 SUBSEP $2 " " $3
	n = ++count[key]
	wall[key, n] = $5
	cpu[key, n] = $6
	rate[key, n] = $7
}

# The median of from[key, 1..n], over[other, i] by turns where other is given; sets low and high.
function middle(from, key, over, other,    i, n, x) {
	n = count[key]
	if (!n)
		return 0
	for (i = 1; i <= n; i++)
		x[i] = from[key, i] / (other == "" ? 1 : over[other, i])
	sort(x, n)
	low = x[1]
	high = x[n]
	return median(x, n)
}

function spread(x) {
	return show(x) " (" show(low) "–" show(high) ")"
}

END {
	print "| threads, files | native, ns | coalesced, ns | coalesced/native | native, ns of CPU " \
		"| coalesced, ns of CPU | native rate | coalesced rate | rates against one thread's |"
	print "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
	for (c = 1; c <= configs; c++) {
		split(config[c], part, " ")
		n = "native" SUBSEP config[c]
		l = "coalesced" SUBSEP config[c]
		printf "| %d, %d | %s |", part[1], part[2], show(middle(wall, n))
		printf " %s |", show(middle(wall, l))
		printf " %s |", spread(middle(wall, l, wall, n))
		printf " %s | %s |", show(middle(cpu, n)), show(middle(cpu, l))
		printf " %s | %s |", show(middle(rate, n)), show(middle(rate, l))
		printf " %.2f,", middle(rate, n, rate, "native" SUBSEP config[1])
		printf " %.2f |\n", middle(rate, l, rate, "coalesced" SUBSEP config[1])
	}
}
