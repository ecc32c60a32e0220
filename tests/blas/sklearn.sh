#!/usr/bin/env bash
# scikit-learn and joblib from Debian's packages: estimators against closed forms and plain loops, and products in
# joblib's worker processes, each of which keeps to its share of the processors.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
for module in numpy sklearn joblib; do
    $python -c "import $module" 2>/dev/null || skip "no $module (Debian and Ubuntu: python3-$module)"
done
. "$here/lib_program.sh"
cat >learn.py <<'PY'
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

random = np.random.default_rng(1)
x, beta = random.standard_normal((400, 30)), random.standard_normal(30)
def product(a, b):
    """By einsum's own loops, which call no BLAS."""
    return np.einsum("ik,kj->ij", a, b, optimize=False)
y = np.einsum("ik,k->i", x, beta) + 3
model = LinearRegression().fit(x, y)
assert np.allclose(model.coef_, beta) and np.isclose(model.intercept_, 3)
ridge = Ridge(alpha=2.0, fit_intercept=False, solver="cholesky").fit(x, y)
assert np.allclose(product(product(x.T, x) + 2 * np.eye(30), ridge.coef_[:, None])[:, 0], np.einsum("ik,i->k", x, y))
pca = PCA(n_components=5, svd_solver="full").fit(x)
centred = x - x.mean(0)
values, vectors = np.linalg.eigh(product(centred.T, centred) / 399)
assert np.allclose(pca.explained_variance_, values[::-1][:5])
assert np.allclose(np.abs(product(pca.components_, vectors[:, ::-1][:, :5])), np.eye(5), atol=1e-8)
for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 1e-3)):
    points = x.astype(dtype)
    wanted = np.sqrt(((points[:, None, :].astype(np.float64) - points[None, :, :]) ** 2).sum(-1))
    np.fill_diagonal(wanted, 0)
    assert np.allclose(pairwise_distances(points), wanted, atol=tolerance)
    near = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(points).kneighbors(points)[1][:, 1]
    assert (near == (wanted + 1e9 * np.eye(400)).argmin(1)).all()
centres = 20 * random.standard_normal((4, 30))
clustered, of = np.repeat(centres, 100, 0) + random.standard_normal((400, 30)), np.repeat(np.arange(4), 100)
for dtype in (np.float64, np.float32):
    found = KMeans(n_clusters=4, n_init=3, random_state=1).fit(clustered.astype(dtype)).labels_
    assert all(len(set(found[of == i])) == 1 for i in range(4)) and len(set(found)) == 4
assert (LogisticRegression().fit(clustered, of).predict(clustered) == of).all()
print("right")
PY
both_ways "[a-z_]*dgemm_* 10, [a-z_]*sgemm_* 5" $python -W ignore learn.py

cat >workers.py <<'PY'
import sys
import numpy as np
from joblib import Parallel, delayed

def job(seed):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((300, 200)), random.standard_normal((200, 100))
    return np.abs(a @ b - np.einsum("ik,kj->ij", a, b, optimize=False)).max()

for backend in ("loky", "multiprocessing", "threading"):
    errors = Parallel(n_jobs=2, backend=backend)(delayed(job)(seed) for seed in range(8))
    assert len(errors) == 8 and max(errors) < 1e-11, (backend, errors)
print("right")
PY
both_ways "cblas_dgemm 24" $python -W ignore workers.py
workers=$(sed -n 's/.* pid=//p' "$log" | sort -u | wc -l)
[ "$workers" -ge 3 ] || die "the products came from $workers processes; two kinds of workers and the program itself are at least 3"
echo "$name: products in $workers processes"
