# A table from tab-separated measurements (use: awk -f stats.awk -f table.awk -v ... FILE...).
#
# Each FILE begins with a header: "variant" and the names of the measures. A variant's n-th row
# belongs to the n-th row of the others: they ran in turn.
#   order     the variants, separated by commas; the others are compared with the first
#   measures  what to show: column=title|column=title...; what no file has is left out
#   ci        1: mean of the ratios and its 95 % confidence interval; otherwise median and range
#   inverse   1: ratios are first/other ("times less"); otherwise other/first
#   plain     1: columns in line instead of Markdown; ratios of the medians

BEGIN {
	FS = "\t"
}

FNR == 1 {
	for (i = 1; i <= NF; i++)
		name[i] = $i
	for (key in row)
		delete row[key]
	next
}

{
	row[$1]++
	for (i = 2; i <= NF; i++) {
		value[$1, name[i], row[$1]] = $i
		if (row[$1] > rows[$1, name[i]])
			rows[$1, name[i]] = row[$1]
	}
}

function ratio_text(v, m,    n, k, r, a, b) {
	n = 0
	if (plain) {
		a = middle(base, m)
		b = middle(v, m)
		return (inverse ? b : a) > 0 ? show(inverse ? a / b : b / a) : "–"
	}
	for (k = 1; k <= rows[v, m]; k++) {
		a = value[base, m, k]
		b = value[v, m, k]
		if (((base, m, k) in value) && (inverse ? b : a) > 0)
			r[++n] = inverse ? a / b : b / a
	}
	if (n == 0)
		return "–"
	if (ci && n > 1)
		return sprintf("%.4f ± %.4f", mean(r, n), margin(r, n))
	sort(r, n)
	if (n == 1)
		return show(median(r, n))
	return show(median(r, n)) " (" show(r[1]) "–" show(r[n]) ")"
}

# The median of a variant's measure; nothing if there is none.
function middle(v, m,    n, k, x) {
	n = rows[v, m]
	if (!n)
		return ""
	for (k = 1; k <= n; k++)
		x[k] = value[v, m, k]
	sort(x, n)
	return median(x, n)
}

function line(first, cells, n,    i, out, text) {
	out = plain ? sprintf("  %-28s", first) : "| " first " |"
	for (i = 1; i <= n; i++)
		out = out (plain ? sprintf("  %16s", cells[i]) : " " cells[i] " |")
	print out
}

END {
	variants = split(order, variant, ",")
	base = variant[1]
	columns = 0
	for (i = 1; i <= variants; i++)
		cell[++columns] = variant[i]
	for (i = 2; i <= variants; i++)
		cell[++columns] = inverse ? "times less" : variant[i] "/" base
	line("", cell, columns)
	if (!plain) {
		printf "|---|"
		for (i = 1; i <= columns; i++)
			printf "---:|"
		print ""
	}
	wanted = split(measures, measure, "|")
	for (k = 1; k <= wanted; k++) {
		cut = index(measure[k], "=")
		m = substr(measure[k], 1, cut - 1)
		columns = have = 0
		for (i = 1; i <= variants; i++) {
			have += rows[variant[i], m]
			cell[++columns] = rows[variant[i], m] ? show(middle(variant[i], m)) : "–"
		}
		for (i = 2; i <= variants; i++)
			cell[++columns] = ratio_text(variant[i], m)
		if (have)
			line(substr(measure[k], cut + 1), cell, columns)
	}
}
