#!/usr/bin/env bash
# A C++ program with Armadillo from Debian's package: products of both types and all transposes, solve, inv, svd; results
# against loops over elements.
. "$(dirname "$0")/lib.sh"
command -v c++ >/dev/null || skip "no C++ compiler (Debian and Ubuntu: g++)"
echo '#include <armadillo>' >probe.cpp
c++ -std=c++14 -E probe.cpp >/dev/null 2>&1 || skip "no Armadillo (Debian and Ubuntu: libarmadillo-dev)"
. "$here/lib_program.sh"
cat >products.cpp <<'CPP'
#include <armadillo>
#include <cmath>
#include <cstdio>
#include <cstdlib>

template <typename T> static arma::Mat<T> product(const arma::Mat<T> &a, const arma::Mat<T> &b)
{
    arma::Mat<T> r(a.n_rows, b.n_cols);
    for (arma::uword i = 0; i < a.n_rows; i++)
        for (arma::uword j = 0; j < b.n_cols; j++) {
            double sum = 0;
            for (arma::uword p = 0; p < a.n_cols; p++)
                sum += double(a(i, p)) * double(b(p, j));
            r(i, j) = T(sum);
        }
    return r;
}

template <typename T> static void near(const arma::Mat<T> &x, const arma::Mat<T> &y, double tolerance, const char *what)
{
    double worst = x.n_rows == y.n_rows && x.n_cols == y.n_cols ? 0 : INFINITY;
    for (arma::uword i = 0; i < x.n_elem && worst < INFINITY; i++) {
        const double error = std::fabs(double(x(i)) - double(y(i)));
        worst = error <= worst ? worst : error == error ? error : INFINITY;
    }
    if (!(worst <= tolerance)) {
        std::printf("%s: off by %g\n", what, worst);
        std::exit(1);
    }
}

template <typename T> static void products(double tolerance)
{
    const arma::uword sizes[][3] = {{5, 6, 7}, {1, 60, 7}, {50, 2, 9}, {90, 70, 80}};
    for (const auto &s : sizes) {
        const arma::Mat<T> a(s[0], s[2], arma::fill::randn), b(s[2], s[1], arma::fill::randn), at = a.t(), bt = b.t();
        const arma::Mat<T> want = product(a, b);
        near<T>(a * b, want, tolerance, "a * b");
        near<T>(at.t() * b, want, tolerance, "a' * b");
        near<T>(a * bt.t(), want, tolerance, "a * b'");
        near<T>(at.t() * bt.t(), want, tolerance, "a' * b'");
        near<T>(T(2) * a * b, T(2) * want, 2 * tolerance, "2 * a * b");
    }
}

int main()
{
    arma::arma_rng::set_seed(1);
    products<double>(1e-11);
    products<float>(1e-4);
    const arma::mat a = arma::mat(150, 150, arma::fill::randn) + 20 * arma::eye(150, 150), b(150, 40, arma::fill::randn);
    near<double>(product<double>(a, arma::solve(a, b)), b, 1e-9, "solve");
    near<double>(product<double>(a, arma::inv(a)), arma::eye(150, 150), 1e-9, "inv");
    arma::mat u, v;
    arma::vec s;
    if (!arma::svd(u, s, v, a))
        return 1;
    near<double>(product<double>(product<double>(u, arma::diagmat(s)), v.t()), a, 1e-9, "svd");
    std::puts("right");
    return 0;
}
CPP
c++ -std=c++14 -O1 products.cpp -o products -larmadillo >compile.txt 2>&1 || die "the program does not compile: $(tail -n 5 compile.txt)"
both_ways "dgemm_ 10, sgemm_ 5" ./products
