#!/usr/bin/env bash
# R from Debian's package: products, what LAPACK makes of them, lm, prcomp; results against sums that R makes itself.
. "$(dirname "$0")/lib.sh"
command -v Rscript >/dev/null || skip "no R (Debian and Ubuntu: r-base-core)"
. "$here/lib_program.sh"
cat >products.R <<'R'
set.seed(1)
near <- function(x, y) stopifnot(all.equal(unname(x), unname(y), tolerance = 1e-10))
# Element by element: sum() and * call no BLAS.
product <- function(a, b) outer(seq_len(nrow(a)), seq_len(ncol(b)), Vectorize(function(i, j) sum(a[i, ] * b[, j])))
for (size in list(c(3, 4, 5), c(1, 60, 7), c(50, 1, 9), c(90, 70, 80))) {
    a <- matrix(rnorm(size[1] * size[3]), size[1]); b <- matrix(rnorm(size[3] * size[2]), size[3])
    near(a %*% b, product(a, b))
    near(crossprod(t(a), b), product(a, b))
    near(tcrossprod(a, t(b)), product(a, b))
}
a <- matrix(rnorm(150 * 150), 150); b <- matrix(rnorm(150 * 40), 150)
near(product(a, solve(a, b)), b)
q <- qr(a, LAPACK = TRUE)
near(product(qr.Q(q), qr.R(q)), a[, q$pivot])
s <- svd(a)
near(product(s$u * rep(s$d, each = 150), t(s$v)), a)
x <- matrix(rnorm(400 * 30), 400); beta <- rnorm(30)
near(coef(lm(rowSums(x * rep(beta, each = 400)) ~ x - 1)), beta)
near(sum(prcomp(x)$sdev^2), sum(apply(x, 2, var)))
# NaN and infinities where R's own sums have them.
a[2, 3] <- NaN; a[5, 6] <- Inf
stopifnot(identical(is.nan(a %*% b), is.nan(product(a, b))), identical(is.infinite(a %*% b), is.infinite(product(a, b))))
stopifnot(nrow(matrix(0, 0, 3) %*% matrix(0, 3, 2)) == 0, all(matrix(0, 2, 0) %*% matrix(0, 0, 3) == 0))
cat("right\n")
R
both_ways "dgemm_ 10" Rscript --vanilla products.R
