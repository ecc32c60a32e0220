/* Makes and compares .npy files for the tests of the command, in code of its own, so that a mistake in cli/npy cannot
 * hide behind itself.
 *
 *   npy_tool make FILE f16|f32|f64 ROWS COLUMNS c|f SEED   small whole numbers, which every product keeps exact
 *   npy_tool identity FILE f16|f32|f64 N                    ones on the diagonal
 *   npy_tool product A B C                                  exit 0 if C = A*B exactly
 *   npy_tool axpby A B C ALPHA BETA OLD                     exit 0 if C = ALPHA*A*B + BETA*OLD exactly
 *   npy_tool transpose A B                                  writes A's transpose to B, in the other order: same bytes
 *   npy_tool stack FILE c|f A...                            stacks matrices: shape (COUNT, ROWS, COLUMNS)
 *   npy_tool vector A FILE                                  writes A, a matrix of one row, as a vector
 *   npy_tool form ACC BIAS C bias|relu                      exit 0 if C is ACC + BIAS, a matrix of one row, in each
 * row, and no less than 0 with "relu" npy_tool slice STACK I FILE                             writes matrix I of a
 * stack in C order
 *
 * Reads only what numpy.save, this tool and the command write: keys in that order. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct matrix {
    int bytes, fortran; /* of an element; column-major */
    long rows, columns;
    double *values; /* row-major */
} matrix;

static void die(const char *what, const char *file)
{
    fprintf(stderr, "npy_tool: %s: %s\n", file, what);
    exit(2);
}

/* Whole numbers up to 2048 alone: that is all these tests use. */
static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, sign = bits >> 15;
    const double value = exponent ? ldexp(1024 + (bits & 1023), exponent - 25) : ldexp(bits & 1023, -24);
    return sign ? -value : value;
}

static uint16_t half_bits(double value)
{
    for (unsigned bits = 0; bits < 0x7c00; bits++)
        if (half_value((uint16_t)bits) == fabs(value))
            return (uint16_t)(bits | (value < 0 ? 0x8000u : 0u));
    die("not a half", "");
    return 0;
}

static matrix new_matrix(int bytes, int fortran, long rows, long columns)
{
    matrix m = {bytes, fortran, rows, columns, calloc((size_t)(rows * columns) + 1, sizeof(double))};
    if (!m.values)
        die("no memory", "");
    return m;
}

/* Where the i-th element of the file lies in `values`. */
static long place(const matrix *m, long i)
{
    return m->fortran ? i % m->rows * m->columns + i / m->rows : i;
}

static void write_header(FILE *file, int bytes, int fortran, const char *shape)
{
    char header[128], text[100];
    snprintf(text, sizeof text, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (%s), }", bytes,
             fortran ? "True" : "False", shape);
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(header + 10, text, strlen(text));
    header[127] = '\n';
    fwrite(header, 1, sizeof header, file);
}

static void write_element(FILE *file, int bytes, double value)
{
    const float single = (float)value;
    const uint16_t half = bytes == 2 ? half_bits(value) : 0;
    fwrite(bytes == 8   ? (const void *)&value
           : bytes == 4 ? (const void *)&single
                        : (const void *)&half,
           (size_t)bytes, 1, file);
}

static void write_array(const char *path, const matrix *m, const char *shape)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        die("cannot be written", path);
    write_header(file, m->bytes, m->fortran, shape);
    for (long i = 0; i < m->rows * m->columns; i++)
        write_element(file, m->bytes, m->values[place(m, i)]);
    if (fclose(file) != 0)
        die("cannot be written", path);
}

static void write_matrix(const char *path, const matrix *m)
{
    char shape[48];
    snprintf(shape, sizeof shape, "%ld, %ld", m->rows, m->columns);
    write_array(path, m, shape);
}

static double read_element(FILE *file, int bytes, const char *path)
{
    unsigned char element[8];
    double value;
    float single;
    uint16_t half;
    if (fread(element, 1, (size_t)bytes, file) != (size_t)bytes)
        die("is short", path);
    memcpy(&value, element, 8);
    memcpy(&single, element, 4);
    memcpy(&half, element, 2);
    return bytes == 8 ? value : bytes == 4 ? (double)single : half_value(half);
}

/* Past the header, which gives two or three lengths. */
static FILE *open_matrix(const char *path, int dimensions, int *bytes, int *fortran, long shape[3])
{
    unsigned char frame[10];
    char header[65536], order[8];
    FILE *file = fopen(path, "rb");
    if (!file || fread(frame, 1, 10, file) != 10)
        die("cannot be read", path);
    const size_t length = (size_t)frame[8] | (size_t)frame[9] << 8;
    if (fread(header, 1, length, file) != length)
        die("has a short header", path);
    header[length] = 0;
    if ((10 + length) % 64 != 0 || header[length - 1] != '\n')
        die("has an unaligned header", path);
    const int found = dimensions == 2
                          ? sscanf(header, "{'descr': '<f%d', 'fortran_order': %7[^,], 'shape': (%ld, %ld), }", bytes,
                                   order, &shape[0], &shape[1])
                          : sscanf(header, "{'descr': '<f%d', 'fortran_order': %7[^,], 'shape': (%ld, %ld, %ld), }",
                                   bytes, order, &shape[0], &shape[1], &shape[2]);
    if (found != 2 + dimensions)
        die("has another header than expected", path);
    *fortran = order[0] == 'T';
    return file;
}

static void close_at_end(FILE *file, const char *path)
{
    if (fgetc(file) != EOF)
        die("is long", path);
    fclose(file);
}

static matrix read_matrix(const char *path)
{
    int bytes, fortran;
    long shape[3];
    FILE *file = open_matrix(path, 2, &bytes, &fortran, shape);
    matrix m = new_matrix(bytes, fortran, shape[0], shape[1]);
    for (long i = 0; i < m.rows * m.columns; i++)
        m.values[place(&m, i)] = read_element(file, bytes, path);
    close_at_end(file, path);
    return m;
}

static void stack(const char *to, int fortran, int count, char **paths)
{
    matrix all[8] = {{0}};
    char shape[64];
    FILE *file = fopen(to, "wb");
    if (!file || count > 8)
        die("cannot be written", to);
    for (int i = 0; i < count; i++)
        all[i] = read_matrix(paths[i]);
    const long rows = all[0].rows, columns = all[0].columns;
    snprintf(shape, sizeof shape, "%d, %ld, %ld", count, rows, columns);
    write_header(file, all[0].bytes, fortran, shape);
    for (long e = 0; e < count * rows * columns; e++) { /* Fortran: the matrix runs fastest, then the row */
        const long i = fortran ? e % count : e / (rows * columns);
        const long row = fortran ? e / count % rows : e / columns % rows;
        const long column = fortran ? e / count / rows : e % columns;
        write_element(file, all[0].bytes, all[i].values[row * columns + column]);
    }
    for (int i = 0; i < count; i++)
        free(all[i].values);
    if (fclose(file) != 0)
        die("cannot be written", to);
}

static void slice(const char *from, long index, const char *to)
{
    int bytes, fortran;
    long shape[3];
    FILE *file = open_matrix(from, 3, &bytes, &fortran, shape);
    matrix m = new_matrix(bytes, 0, shape[1], shape[2]);
    if (fortran || index >= shape[0])
        die("is in Fortran order, or has fewer matrices", from);
    for (long i = 0; i < shape[0] * m.rows * m.columns; i++) {
        const double value = read_element(file, bytes, from);
        if (i / (m.rows * m.columns) == index)
            m.values[i % (m.rows * m.columns)] = value;
    }
    close_at_end(file, from);
    write_matrix(to, &m);
    free(m.values);
}

static int compare(const matrix *a, const matrix *b, const matrix *c, double alpha, double beta, const matrix *old)
{
    for (long i = 0; i < c->rows; i++)
        for (long j = 0; j < c->columns; j++) {
            const double found = c->values[i * c->columns + j];
            double sum = 0;
            for (long k = 0; k < a->columns; k++)
                sum += a->values[i * a->columns + k] * b->values[k * b->columns + j];
            sum = alpha * sum + (beta != 0 ? beta * old->values[i * c->columns + j] : 0);
            if (!(found == sum)) {
                fprintf(stderr, "npy_tool: (%ld, %ld) is %g, not %g\n", i, j, found, sum);
                return 1;
            }
        }
    return 0;
}

static int check(const char *a_path, const char *b_path, const char *c_path, double alpha, double beta,
                 const char *old_path)
{
    matrix a = read_matrix(a_path), b = read_matrix(b_path), c = read_matrix(c_path), old = read_matrix(old_path);
    if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns || c.fortran)
        die("has the wrong shape or order", c_path);
    const int result = compare(&a, &b, &c, alpha, beta, &old);
    free(a.values);
    free(b.values);
    free(c.values);
    free(old.values);
    return result;
}

static void vector(const char *from, const char *to)
{
    char shape[48];
    matrix m = read_matrix(from);
    if (m.rows != 1)
        die("has more rows than one", from);
    snprintf(shape, sizeof shape, "%ld,", m.columns);
    m.fortran = 0;
    write_array(to, &m, shape);
    free(m.values);
}

static int form(const char *acc_path, const char *bias_path, const char *c_path, int relu)
{
    matrix acc = read_matrix(acc_path), bias = read_matrix(bias_path), c = read_matrix(c_path);
    int wrong = 0;
    if (acc.rows != c.rows || acc.columns != c.columns || bias.rows != 1 || bias.columns != c.columns || c.fortran)
        die("has the wrong shape or order", c_path);
    for (long i = 0; i < c.rows * c.columns && !wrong; i++) {
        const double sum = acc.values[i] + bias.values[i % c.columns], want = relu && sum < 0 ? 0 : sum;
        wrong = !(c.values[i] == want);
        if (wrong)
            fprintf(stderr, "npy_tool: element %ld is %g, not %g\n", i, c.values[i], want);
    }
    free(acc.values);
    free(bias.values);
    free(c.values);
    return wrong;
}

static void identity(char **argv)
{
    const long n = strtol(argv[2], NULL, 10);
    matrix m = {.bytes = atoi(argv[1] + 1) / 8, .rows = n, .columns = n};
    m.values = calloc((size_t)(n * n), sizeof *m.values);
    if (!m.values)
        die("out of memory", argv[0]);
    for (long i = 0; i < n; i++)
        m.values[i * n + i] = 1;
    write_matrix(argv[0], &m);
    free(m.values);
}

static void make(char **argv)
{
    uint64_t state = strtoull(argv[5], NULL, 10) * 2654435761u + 1;
    matrix m = new_matrix(atoi(argv[1] + 1) / 8, argv[4][0] == 'f', atol(argv[2]), atol(argv[3]));
    for (long i = 0; i < m.rows * m.columns; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        m.values[i] = (double)(state >> 40 & 7) - 3;
    }
    write_matrix(argv[0], &m);
    free(m.values);
}

static void transpose(const char *from, const char *to)
{
    matrix a = read_matrix(from);
    matrix t = new_matrix(a.bytes, !a.fortran, a.columns, a.rows);
    for (long i = 0; i < a.rows; i++)
        for (long j = 0; j < a.columns; j++)
            t.values[j * a.rows + i] = a.values[i * a.columns + j];
    write_matrix(to, &t);
    free(a.values);
    free(t.values);
}

int main(int argc, char **argv)
{
    if (argc == 8 && strcmp(argv[1], "make") == 0)
        make(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "identity") == 0)
        identity(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "product") == 0)
        return check(argv[2], argv[3], argv[4], 1, 0, argv[4]);
    else if (argc == 8 && strcmp(argv[1], "axpby") == 0)
        return check(argv[2], argv[3], argv[4], atof(argv[5]), atof(argv[6]), argv[7]);
    else if (argc == 4 && strcmp(argv[1], "transpose") == 0)
        transpose(argv[2], argv[3]);
    else if (argc >= 5 && strcmp(argv[1], "stack") == 0)
        stack(argv[2], argv[3][0] == 'f', argc - 4, argv + 4);
    else if (argc == 4 && strcmp(argv[1], "vector") == 0)
        vector(argv[2], argv[3]);
    else if (argc == 6 && strcmp(argv[1], "form") == 0)
        return form(argv[2], argv[3], argv[4], strcmp(argv[5], "relu") == 0);
    else if (argc == 5 && strcmp(argv[1], "slice") == 0)
        slice(argv[2], atol(argv[3]), argv[4]);
    else
        die("wrong arguments", argv[0]);
    return 0;
}
