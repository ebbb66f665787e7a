# The table of the cases of `maps` (use: awk -v format=plain|markdown -f stats.awk -f cases.awk
# title=TITLE FILE...).

BEGIN {
	FS = "\t"
	line("", "calls", "µs each", "mappings", "calls", "µs each", "mappings")
	if (format == "markdown")
		print "|---|---:|---:|---:|---:|---:|---:|"
}

function line(name, a, b, c, d, e, f,    shape) {
	shape = format == "markdown" ? "| %s | %s | %s | %s | %s | %s | %s |\n" : \
		"  %-44s %16s %9s %9s   %16s %9s %9s\n"
	printf shape, name, a, b, c, d, e, f
}

function close_case() {
	if (was != "")
		line(was, made["native"], each["native"], left["native"],
			made["coalesced"], each["coalesced"], left["coalesced"])
	for (key in made)
		delete made[key]
	for (key in took)
		delete took[key]
}

FNR == 1 {
	close_case()
	was = title
	next
}

{
	took[$1] += $3
	made[$1] = show($2) ($5 ? ", fails" : "")
	each[$1] = $2 ? show(1000 * took[$1] / $2) : "–"
	left[$1] = show($4)
}

END {
	close_case()
}
