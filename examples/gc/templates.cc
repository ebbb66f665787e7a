#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

template <int N> struct step {
	std::map<int, std::tuple<std::string, std::array<int, N + 1>>> m;
	int run(int x)
	{
		m[x] = {std::to_string(N + x), {}};
		return step<N - 1>().run(x + (int)m.size());
	}
};
template <> struct step<0> {
	int run(int x) { return x; }
};

bool matches(const std::string &s) { return std::regex_match(s, std::regex("[a-z]+[0-9]*")); }

int main(int argc, char **argv) { return step<12>().run(argc) + matches(argv[0]); }
