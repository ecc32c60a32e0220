#!/usr/bin/env bash
# Octave from Debian's package: products of both types and all transposes, and what LAPACK makes of them; results against
# sums of element-wise products.
. "$(dirname "$0")/lib.sh"
command -v octave-cli >/dev/null || skip "no Octave (Debian and Ubuntu: octave)"
. "$here/lib_program.sh"
cat >products.m <<'M'
1;
function r = product(a, b) % sums of element-wise products, which call no BLAS
  r = permute(sum(permute(double(a), [1 3 2]) .* permute(double(b), [3 2 1]), 3), [1 2]);
end
function near(x, y, tolerance)
  assert(size(x), size(y));
  assert(max([0; abs(double(x)(:) - double(y)(:))]) <= tolerance);
end
rand('state', 1);
for size_of = {[3 4 5], [1 60 7], [50 2 9], [90 70 80]}
  m = size_of{1}(1); n = size_of{1}(2); k = size_of{1}(3);
  for type = {'double', 'single'}
    tolerance = 1e-11;
    if strcmp(type{1}, 'single') tolerance = 1e-4; end
    a = cast(rand(m, k) - 0.5, type{1}); b = cast(rand(k, n) - 0.5, type{1}); at = a'; bt = b';
    near(a * b, product(a, b), tolerance); near(at' * b, product(a, b), tolerance);
    near(a * bt', product(a, b), tolerance); near(at' * bt', product(a, b), tolerance);
  end
end
a = rand(150) + 5 * eye(150); b = rand(150, 40);
near(product(a, a \ b), b, 1e-9);
near(product(a, inv(a)), eye(150), 1e-9);
[q, r] = qr(a); near(product(q, r), a, 1e-9);
[u, s, v] = svd(a); near(product(product(u, s), v'), a, 1e-9);
c = chol(product(a', a)); near(product(c', c), product(a', a), 1e-7);
assert(size(zeros(0, 3) * zeros(3, 2)), [0 2]); assert(zeros(2, 0) * zeros(0, 3), zeros(2, 3));
a(2, 3) = NaN; assert(isnan(a * b)(2, :), true(1, 40)); assert(! any(isnan(a * b)(1, :)));
disp('right');
M
both_ways "dgemm_ 10, sgemm_ 5" octave-cli --no-gui --norc products.m
