# Small statistics for the tables. Arrays are indexed from 1; sort changes its array.

function sort(a, n,    i, j, x) {
	for (i = 2; i <= n; i++) {
		x = a[i]
		for (j = i - 1; j >= 1 && a[j] > x; j--)
			a[j + 1] = a[j]
		a[j + 1] = x
	}
}

# Of an array that has been sorted.
function median(a, n) {
	return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

function mean(a, n,    i, sum) {
	sum = 0
	for (i = 1; i <= n; i++)
		sum += a[i]
	return sum / n
}

# Half the width of the mean's 95 % confidence interval (Student's t; its quantile is good to 1 %).
function margin(a, n,    i, m, sum, t, d) {
	if (n < 2)
		return 0
	m = mean(a, n)
	sum = 0
	for (i = 1; i <= n; i++)
		sum += (a[i] - m) ^ 2
	d = n - 1
	t = d == 1 ? 12.706 : d == 2 ? 4.303 : 1.96 + 2.4 / d + 2.9 / d ^ 2 + 4.2 / d ^ 3
	return t * sqrt(sum / (n - 1) / n)
}

# A number as short as it can be read: 17,688   12.3   0.0187
function show(x,    s, i, n, out) {
	if (x < 0)
		return "-" show(-x)
	if (x == 0)
		return "0"
	if (x >= 1000) {
		s = sprintf("%.0f", x)
		out = ""
		n = length(s)
		for (i = 1; i <= n; i++) {
			out = out substr(s, i, 1)
			if (i < n && (n - i) % 3 == 0)
				out = out ","
		}
		return out
	}
	if (x == int(x))
		return sprintf("%d", x)
	n = x >= 100 ? 0 : x >= 10 ? 1 : x >= 1 ? 2 : x >= 0.1 ? 3 : 4
	return sprintf("%." n "f", x)
}
