# Medians of measurements, variants below each other (use: awk -f stats.awk -f medians.awk -v ...
# FILE...). Files as for table.awk.
#
#   variants, measures   which: name=title|name=title...; a variant that no file has is left out
#   format               markdown, or data (tab-separated, for gnuplot)

BEGIN {
	FS = "\t"
}

FNR == 1 {
	for (i = 2; i <= NF; i++)
		name[i] = $i
	next
}

{
	seen[$1] = 1
	for (i = 2; i <= NF; i++)
		value[$1, name[i], ++count[$1, name[i]]] = $i
}

function middle(v, m,    i, n, x) {
	n = count[v, m]
	for (i = 1; i <= n; i++)
		x[i] = value[v, m, i]
	sort(x, n)
	return n ? median(x, n) : 0
}

END {
	markdown = format == "markdown"
	rows = split(variants, row, "|")
	columns = split(measures, column, "|")
	printf markdown ? "| |" : "variant"
	for (k = 1; k <= columns; k++)
		printf markdown ? " %s |" : "\t%s", substr(column[k], index(column[k], "=") + 1)
	print ""
	if (markdown) {
		printf "|---|"
		for (k = 1; k <= columns; k++)
			printf "---:|"
		print ""
	}
	for (i = 1; i <= rows; i++) {
		cut = index(row[i], "=")
		v = substr(row[i], 1, cut - 1)
		if (!(v in seen))
			continue
		printf markdown ? "| %s |" : "%s", substr(row[i], cut + 1)
		for (k = 1; k <= columns; k++) {
			x = middle(v, substr(column[k], 1, index(column[k], "=") - 1))
			printf markdown ? " %s |" : "\t%s", markdown ? show(x) : x
		}
		print ""
	}
}
