# Read against mmap against read with the library, by the size of requests. Sourced by run.
# shellcheck shell=sh disable=SC2154

. "$root/examples/reads/requests.sh"
helper scan
rounds=$(pick 3 1 9)
measure_requests "$rounds"
cat <<END
A file of 16 MiB searched for a word (\`fgrep\`) and summed up (\`md5\`), in memory (warm) and dropped from it before (cold), in
requests of so many bytes. Medians of $rounds rounds; all results are the same.
END
show_requests markdown
show_requests data >"$work/requests.data"

# panel WHAT HEAT BLOCK
panel() {
	cat <<END
set title '$1, $2: MB/s' noenhanced
plot for [i=2:4] '$work/requests.data' index $3 using 1:i with linespoints lw 2 pt 7 ps 0.5 lc i - 1 title word('read mmap mapfast', i - 1)
unset label 1
END
}
plot_height=640 plot requests 'Megabytes a second, by the bytes of a request' <<END
set datafile separator whitespace
set key inside bottom right
set logscale xy
set format x '%.0b%B'
set xrange [12:1500000]
set logscale x 2
unset bmargin
set yrange [1:10000]
set multiplot layout 2,2 margins 0.07,0.98,0.11,0.94 spacing 0.07,0.13
$(panel fgrep warm 0)
$(panel fgrep cold 1)
$(panel md5 warm 2)
$(panel md5 cold 3)
unset multiplot
END
