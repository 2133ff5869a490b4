// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* Pixels and rays one by one: what raster.py, rays.py, shadows.py and grain.py do with numpy.
 *
 * Each operation on numbers is one of theirs, in their order, so that the bits are the same; these
 * modules say what the numbers are. The compiler must not contract multiplications and additions.
 * Called without Python's lock: arrays are the caller's, of the sizes that it states.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
/* Wider registers where there are any: the same operations on more pixels at once. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
#define INLINE static inline __attribute__((always_inline))
/* Pixels that are worked out at once. */
#define LANES 8

/* A triangle in the picture: its corners, and the rows that it may have. */
struct outline {
    double x[3], y[3];
    int64_t owner, top, bottom;
};

/* What a triangle covers of a row: a + b column is compared. */
struct span {
    double a, b;
    int32_t start, stop, owner;
};

INLINE int32_t whole(double value, int64_t most)
{
    value = ceil(value);
    if (!(value > 0.0))
        return 0;
    return (int32_t)(value < (double)most ? value : (double)most);
}

static double product(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* How a picture is looked at: origin, forward, right and up; then halves of its width and height,
 * the lengths of the slants that they make with the focal length, that one, the depth at which a
 * picture begins, and how many radii away a triangle is at most (0: any).
 */
struct camera {
    const double *axes, *view;
};

static int is_seen(const struct camera *by, const double *centre, double radius)
{
    const double *view = by->view, focal = view[4], reach = view[6] * radius;
    double away[3], place[3];
    for (int k = 0; k < 3; k++)
        away[k] = centre[k] - by->axes[k];
    for (int k = 0; k < 3; k++)
        place[k] = product(away, by->axes + 3 + 3 * k);
    if (!(place[0] + radius > view[5]))
        return 0;
    for (int k = 0; k < 2; k++)
        if (!(fabs(place[1 + k]) * focal - place[0] * view[k] <= radius * view[2 + k] * 1.000001))
            return 0;
    return !(view[6] > 0.0) || product(away, away) < reach * reach;
}

/* The triangles whose front may be seen: their numbers, corners in the eye's frame, and planes.
 * Returns how many there are.
 */
EXPORTED int64_t cosim_faces(int64_t count, const int64_t *which, const double *points,
                             const double *centres, const double *radii, const double *axes,
                             const double *view, int64_t *kept, double *corners, double *planes)
{
    const struct camera camera = {axes, view};
    int64_t made = 0;
    for (int64_t n = 0; n < count; n++) {
        const double *point = points + 9 * which[n];
        double away[3], first[3], second[3], *corner = corners + 9 * made;
        if (!is_seen(&camera, centres + 3 * which[n], radii[which[n]]))
            continue;
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++)
                away[k] = point[3 * i + k] - axes[k];
            for (int k = 0; k < 3; k++)
                corner[3 * i + k] = product(away, axes + 3 + 3 * k);
        }
        for (int k = 0; k < 3; k++) {
            first[k] = corner[3 + k] - corner[k];
            second[k] = corner[6 + k] - corner[k];
        }
        double normal[3] = {first[1] * second[2] - first[2] * second[1],
                            first[2] * second[0] - first[0] * second[2],
                            first[0] * second[1] - first[1] * second[0]};
        double offset = product(corner, normal), *plane = planes + 3 * made;
        if (!(offset < 0.0))
            continue;
        plane[0] = normal[0] / offset;
        plane[1] = normal[1] / offset / view[4];
        plane[2] = normal[2] / offset / (0.0 - view[4]);
        kept[made++] = which[n];
    }
    return made;
}

/* Where the edge from a to b passes the depth at which a picture begins. */
static void cut(const double *a, const double *b, double nearest, double *place)
{
    double share = (nearest - a[0]) / (b[0] - a[0]);
    for (int k = 0; k < 3; k++)
        place[k] = a[k] + share * (b[k] - a[k]);
}

/* The part of a triangle that is ahead: of four kinds, one after the other; 0: there is none. */
static int clipped(const double *points, int kind, double nearest, double *corners)
{
    int behind[3], lone = 0, count = 0;
    for (int i = 0; i < 3; i++)
        count += behind[i] = points[3 * i] < nearest;
    if (count != (kind == 0 ? 0 : kind == 3 ? 2 : 1))
        return 0;
    if (kind == 0) {
        memcpy(corners, points, 9 * sizeof *corners);
        return 1;
    }
    while (behind[lone] != (kind < 3))
        lone++;
    const double *a = points + 3 * lone, *b = points + 3 * ((lone + 1) % 3);
    const double *c = points + 3 * ((lone + 2) % 3);
    double ab[3], ac[3];
    cut(a, b, nearest, ab);
    cut(a, c, nearest, ac);
    memcpy(corners, kind == 3 ? a : ab, sizeof ab);
    memcpy(corners + 3, kind == 3 ? ab : kind == 1 ? b : c, sizeof ab);
    memcpy(corners + 6, kind == 1 ? c : ac, sizeof ab);
    return 1;
}

static struct outline bounded(const double *x, const double *y, int64_t owner, int64_t width,
                              int64_t height)
{
    struct outline found = {.owner = owner};
    double left = INFINITY, right = -INFINITY, high = INFINITY, low = -INFINITY;
    for (int i = 0; i < 3; i++) {
        left = x[i] < left ? x[i] : left;
        right = x[i] > right ? x[i] : right;
        high = y[i] < high ? y[i] : high;
        low = y[i] > low ? y[i] : low;
        found.x[i] = x[i];
        found.y[i] = y[i];
    }
    found.top = whole(high, height);
    found.bottom = right > -1.0 && left < (double)width ? whole(low, height) : found.top;
    return found;
}

static struct outline seen(const double *corners, int64_t owner, int64_t width, int64_t height,
                           double focal)
{
    double x[3], y[3];
    for (int i = 0; i < 3; i++) {
        double depth = corners[3 * i];
        x[i] = corners[3 * i + 1] / depth * focal + (0.5 * (double)width - 0.5);
        y[i] = (0.5 * (double)height - 0.5) - corners[3 * i + 2] / depth * focal;
    }
    return bounded(x, y, owner, width, height);
}

/* How the columns of the edges change from row to row. */
INLINE void inclined(const struct outline *of, double *slopes)
{
    for (int k = 0; k < 3; k++) {
        double rise = of->y[(k + 1) % 3] - of->y[k];
        slopes[k] = (of->x[(k + 1) % 3] - of->x[k]) / (rise == 0.0 ? 1.0 : rise);
    }
}

/* The span of an outline in a row; its start is not before its stop where there is none. */
INLINE struct span part(const struct outline *of, const double *slopes, int64_t row, int64_t width)
{
    struct span found;
    double level = (double)row, left = INFINITY, right = -INFINITY;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        if ((of->y[i] <= level) != (of->y[j] <= level)) {
            double at = of->x[i] + (level - of->y[i]) * slopes[i];
            left = at < left ? at : left;
            right = at > right ? at : right;
        }
    }
    found.start = whole(left, width);
    found.stop = whole(right, width);
    return found;
}

/* The spans of an outline, each behind those that its row has. */
WIDE static void add_spans(const struct outline *of, const double *plane, double scale,
                           int64_t width, int64_t height, struct span *spans, int64_t *ends)
{
    double slopes[3];
    inclined(of, slopes);
    for (int64_t row = of->top; row < of->bottom; row++) {
        struct span here = part(of, slopes, row, width);
        if (here.stop <= here.start)
            continue;
        here.owner = (int32_t)of->owner;
        here.b = plane[1] * scale;
        here.a = (plane[0] + plane[2] * ((double)row + (0.5 - 0.5 * (double)height))) * scale;
        here.a += here.b * (0.5 - 0.5 * (double)width);
        spans[ends[row]++] = here;
    }
}

/* Pieces of one row with one owner each; -1: none. Returns how many there are. */
WIDE static int64_t pieces(const struct span *spans, int64_t count, int64_t width, double *restrict nearest,
                           double *restrict owners, int64_t *found, int64_t *sizes)
{
    int64_t made = 0;
    for (int64_t column = 0; column < width; column++) {
        nearest[column] = 0.0;
        owners[column] = -1.0;
    }
    for (int64_t i = 0; i < count; i++) {
        double a = spans[i].a, b = spans[i].b;
        double owner = (double)spans[i].owner; /* as wide as what is compared */
        for (int32_t column = spans[i].start; column < spans[i].stop; column++) {
            double value = a + b * (double)column;
            int wins = value >= nearest[column];
            nearest[column] = wins ? value : nearest[column];
            owners[column] = wins ? owner : owners[column];
        }
    }
    for (int64_t column = 0, begin = 0; column < width; begin = column) {
        while (column < width && owners[column] == owners[begin])
            column++;
        found[made] = (int64_t)owners[begin];
        sizes[made++] = column - begin;
    }
    return made;
}

/* What is nearest in each pixel of a picture.
 *
 * points: (count, 3, 3), planes: (count, 3), scales: (count) of triangles
 * found, sizes: get the pieces; each has room for all pixels
 * Returns the number of pieces; below 0: there is no memory.
 */
EXPORTED int64_t cosim_picture(int64_t count, const double *points, const double *planes,
                               const double *scales, int64_t width, int64_t height, double focal,
                               double nearest_depth, int64_t *found, int64_t *sizes)
{
    int64_t made = -1, total = 0, parts = 0;
    struct span *spans = NULL;
    struct outline *outlines = malloc(sizeof *outlines * (size_t)(2 * count + 1));
    /* Of each row: where its spans begin, and where they end so far. */
    int64_t *begins = calloc((size_t)height + 1, sizeof *begins);
    int64_t *ends = malloc(sizeof *ends * (size_t)(height + 1));
    double *nearest = malloc(sizeof *nearest * (size_t)(width + 1));
    double *who = malloc(sizeof *who * (size_t)(width + 1));
    if (!outlines || !begins || !ends || !nearest || !who)
        goto end;
    for (int kind = 0; kind < 4; kind++)
        for (int64_t i = 0; i < count; i++) {
            double corners[9];
            if (!clipped(points + 9 * i, kind, nearest_depth, corners))
                continue;
            struct outline *of = &outlines[parts];
            *of = seen(corners, i, width, height, focal);
            for (int64_t row = of->top; row < of->bottom; row++)
                begins[row]++;
            parts += of->top < of->bottom;
        }
    for (int64_t row = 0; row < height; row++) {
        int64_t here = begins[row];
        begins[row] = ends[row] = total;
        total += here;
    }
    spans = malloc(sizeof *spans * (size_t)(total + 1));
    if (!spans)
        goto end;
    for (int64_t i = 0; i < parts; i++)
        add_spans(&outlines[i], planes + 3 * outlines[i].owner, scales[outlines[i].owner], width,
                  height, spans, ends);
    made = 0;
    for (int64_t row = 0; row < height; row++)
        made += pieces(spans + begins[row], ends[row] - begins[row], width, nearest, who,
                       found + made, sizes + made);
end:
    free(spans);
    free(who);
    free(nearest);
    free(ends);
    free(begins);
    free(outlines);
    return made;
}

/* A grid of rays from an eye, as rays.py has it.
 *
 * ring: azimuths in [-pi, pi) in increasing order, and once more a turn later; order: their columns
 * slopes: tangents of the rows' angles, in increasing order
 */
struct rays {
    const double *axes; /* origin, forward, right and up of the eye */
    const double *ring, *slopes;
    const int64_t *order;
    int64_t columns, rows;
    double reach, slack, nearest, level_step;
};

/* A triangle before the eye: edges' and own normals, and which rays may meet it. */
struct target {
    double edges[3][3], normal[3], offset, factor;
    int64_t first, last, low, high;
};

static int64_t places_below(const double *values, int64_t count, double limit, int with_limit)
{
    int64_t low = 0;
    while (low < count) {
        int64_t middle = low + (count - low) / 2;
        if (values[middle] < limit || (with_limit && values[middle] == limit))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static double turned(double angle)
{
    const double pi = 3.14159265358979323846;
    return angle - 2.0 * pi * floor((angle + pi) / (2.0 * pi));
}

/* The least distance of a triangle's edges from the vertical axis, a little less. */
static double nearest_edge(double corners[3][3], double slack)
{
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double *from = corners[i], *to = corners[(i + 1) % 3];
        double dx = to[0] - from[0], dy = to[1] - from[1], square = dx * dx + dy * dy;
        double along = square > 0.0 ? 0.0 - (from[0] * dx + from[1] * dy) / square : 0.0;
        along = along > 0.0 ? along < 1.0 ? along : 1.0 : 0.0;
        double x = from[0] + along * dx, y = from[1] + along * dy, way = sqrt(x * x + y * y);
        best = way < best ? way : best;
    }
    return best * (1.0 - slack);
}

/* Which rays may meet a triangle: wide enough for any rounding. 0: none. */
static int has_rays(const struct rays *of, double corners[3][3], struct target *found)
{
    const double pi = 3.14159265358979323846, edge = pi - 1.0e-3;
    double steepest = fabs(of->slopes[0]), top, bottom, outer = 0.0, angles[3];
    double low = INFINITY, high = -INFINITY;
    if (fabs(of->slopes[of->rows - 1]) > steepest)
        steepest = fabs(of->slopes[of->rows - 1]);
    double slack = of->slack * (1.0 + steepest * steepest);
    for (int i = 0; i < 3; i++) {
        const double *at = corners[i];
        double away = sqrt(at[0] * at[0] + at[1] * at[1]);
        outer = away > outer ? away : outer;
        low = at[2] < low ? at[2] : low;
        high = at[2] > high ? at[2] : high;
    }
    /* Above all rays, or below them. */
    if ((low > 0.0 && low / outer > of->slopes[of->rows - 1] + slack) ||
        (high < 0.0 && high / outer < of->slopes[0] - slack))
        return 0;
    for (int i = 0; i < 3; i++)
        angles[i] = atan2(corners[i][1], corners[i][0]);
    double one = turned(angles[1] - angles[0]), two = turned(angles[2] - angles[0]);
    int around = fabs(one) > edge || fabs(two) > edge || fabs(one - two) > edge;
    double inner = around ? 0.0 : nearest_edge(corners, of->slack);
    top = high / (high > 0.0 ? inner : outer);
    bottom = low / (low < 0.0 ? inner : outer);
    top = isnan(top) ? INFINITY : top;
    bottom = isnan(bottom) ? -INFINITY : bottom;
    found->low = places_below(of->slopes, of->rows, bottom - slack, 0);
    found->high = places_below(of->slopes, of->rows, top + slack, 1);
    double left = one < two ? one : two, right = one > two ? one : two;
    left = left < 0.0 ? left : 0.0;
    right = right > 0.0 ? right : 0.0;
    double start = turned(angles[0] + left - of->slack);
    double end = start + (right - left) + 2.0 * of->slack;
    found->first = around ? 0 : places_below(of->ring, 2 * of->columns, start, 0);
    found->last = around ? of->columns : places_below(of->ring, 2 * of->columns, end, 1);
    if (found->last > found->first + of->columns)
        found->last = found->first + of->columns;
    return found->low < found->high && found->first < found->last;
}

static void crossed(const double *a, const double *b, double *result)
{
    result[0] = a[1] * b[2] - a[2] * b[1];
    result[1] = a[2] * b[0] - a[0] * b[2];
    result[2] = a[0] * b[1] - a[1] * b[0];
}

/* What a triangle is to the rays; 0: none can meet its front. */
static int aimed_at(const struct rays *of, const double *points, const double *normal,
                    uint8_t level, struct target *found)
{
    double corners[3][3], away[3];
    for (int k = 0; k < 3; k++)
        found->normal[k] = product(normal, of->axes + 3 + 3 * k);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            away[k] = points[3 * i + k] - of->axes[k];
        for (int k = 0; k < 3; k++)
            corners[i][k] = product(away, of->axes + 3 + 3 * k);
    }
    found->offset = product(corners[0], found->normal);
    if (!(found->offset < 0.0) || !has_rays(of, corners, found))
        return 0;
    for (int i = 0; i < 3; i++)
        crossed(corners[i], corners[(i + 1) % 3], found->edges[i]);
    found->factor = 1.0 - of->level_step * (double)level;
    return 1;
}

/* What each ray of a grid meets first.
 *
 * which: (count) triangles of a mesh that are asked about; points (3 corners each), normals,
 * centres, radii and levels: of the mesh
 * ranks, distances, found: of each ray, what has been found so far; found counts from first on
 * Returns how many are within reach.
 */
EXPORTED int64_t cosim_cast(int64_t count, const int64_t *which, const double *points,
                            const double *normals, const double *centres, const double *radii,
                            const uint8_t *levels, const struct rays *of,
                            const double *directions, int64_t first, double *ranks,
                            double *distances, int64_t *found)
{
    int64_t within = 0;
    for (int64_t n = 0; n < count; n++) {
        int64_t number = which[n];
        struct target target;
        double limit = (radii[number] + of->reach) * 1.000001, away[3];
        for (int k = 0; k < 3; k++)
            away[k] = centres[3 * number + k] - of->axes[k];
        if (!(product(away, away) <= limit * limit))
            continue;
        within++;
        if (!aimed_at(of, points + 9 * number, normals + 3 * number, levels[number], &target))
            continue;
        for (int64_t row = target.low; row < target.high; row++)
            for (int64_t place = target.first; place < target.last; place++) {
                int64_t ray = row * of->columns + of->order[place];
                const double *way = directions + 3 * ray;
                if (!(product(way, target.edges[0]) <= 0.0) ||
                    !(product(way, target.edges[1]) <= 0.0) ||
                    !(product(way, target.edges[2]) <= 0.0))
                    continue;
                double facing = product(way, target.normal);
                if (!(facing < 0.0))
                    continue;
                double distance = target.offset / facing, rank = distance * target.factor;
                if (distance > of->nearest && rank <= ranks[ray]) {
                    ranks[ray] = rank;
                    distances[ray] = distance;
                    found[ray] = first + n;
                }
            }
    }
    return within;
}

/* Heights of triangles over a square of texels: in each the highest one is kept.
 *
 * which: (count) triangles; u, v, z: (triangles, 3 corners)
 * frame: u and v of the square's corner, size of a texel; size: texels of its side
 */
EXPORTED void cosim_heights(int64_t count, const int64_t *which, const double *u, const double *v,
                            const double *z, const double *frame, int64_t size, float *heights)
{
    for (int64_t n = 0; n < count; n++) {
        const double *us = u + 3 * which[n], *vs = v + 3 * which[n], *zs = z + 3 * which[n];
        double x[3], y[3], slopes[3], low = zs[0], high = zs[0];
        for (int k = 0; k < 3; k++) {
            x[k] = (vs[k] - frame[1]) * (1.0 / frame[2]) - 0.5;
            y[k] = (us[k] - frame[0]) * (1.0 / frame[2]) - 0.5;
            low = zs[k] < low ? zs[k] : low;
            high = zs[k] > high ? zs[k] : high;
        }
        double x1 = x[1] - x[0], x2 = x[2] - x[0], y1 = y[1] - y[0], y2 = y[2] - y[0];
        double z1 = zs[1] - zs[0], z2 = zs[2] - zs[0], area = x1 * y2 - x2 * y1;
        if (!(fabs(area) > 1.0e-9))
            continue;
        double rise_x = (z1 * y2 - z2 * y1) / area, rise_y = (x1 * z2 - x2 * z1) / area;
        struct outline of = bounded(x, y, n, size, size);
        inclined(&of, slopes);
        for (int64_t row = of.top; row < of.bottom; row++) {
            struct span here = part(&of, slopes, row, size);
            float *texels = heights + row * size;
            double along = rise_y * ((double)row - y[0]);
            for (int32_t column = here.start; column < here.stop; column++) {
                double value = zs[0] + rise_x * ((double)column - x[0]) + along;
                value = value > low ? value : low;
                float height = (float)(value < high ? value : high);
                texels[column] = height > texels[column] ? height : texels[column];
            }
        }
    }
}

/* Where the sun does not come, as shadows.py has it. */
struct shadows {
    int64_t step;    /* pixels of a cell, in both directions */
    int64_t windows; /* maps of heights, from fine to coarse */
    double focal;
    const double *planes;        /* (triangles, 3) */
    const double *leans;         /* of triangles; below 0: it does not face the sun */
    const double *axes;          /* (3, 4) of u, v and z: start, ahead, right, up */
    const double *frames;        /* (windows, 3) u and v of the corner, size of a texel */
    const int64_t *lengths;      /* texels of a window's side */
    const float *const *heights; /* of windows, row after row */
    const uint32_t *in_shade;    /* colours of triangles */
    double before, most_before;
};

/* The grain of surfaces, as grain.py has it. */
struct grain {
    const float *table;   /* (triangles, 12) */
    const int8_t *noise; /* the square and its coarser copies */
    const int32_t *starts;
    int32_t power, levels;
    float least;
};

static int is_dark(const struct shadows *in, int64_t triangle, double x, double y)
{
    const double *plane = in->planes + 3 * triangle, *axis = in->axes;
    double depth = 1.0 / ((plane[0] + plane[1] * x) + plane[2] * y), place[3];
    x /= in->focal;
    y /= in->focal;
    for (int k = 0; k < 3; k++, axis += 4)
        place[k] = axis[0] + depth * ((axis[1] + x * axis[2]) - y * axis[3]);
    for (int64_t n = 0; n < in->windows; n++) {
        const double *frame = in->frames + 3 * n;
        double texel = frame[2], size = (double)in->lengths[n];
        double i = (place[0] - frame[0]) * (1.0 / texel), j = (place[1] - frame[1]) * (1.0 / texel);
        if (i >= 0.0 && i < size && j >= 0.0 && j < size) {
            double lean = in->leans[triangle];
            double before = in->before + texel * (lean < in->most_before ? lean : in->most_before);
            int64_t texels = (int64_t)i * in->lengths[n] + (int64_t)j;
            return (double)in->heights[n][texels] > place[2] + before;
        }
    }
    return 0;
}

/* Cells of a row of the coarser grid. */
static void darken(const struct shadows *in, const int32_t *who, int64_t row, int64_t width,
                   int64_t height, uint8_t *dark)
{
    double y = (double)row + (0.5 - 0.5 * (double)height), middle = 0.5 - 0.5 * (double)width;
    int64_t column = in->step / 2;
    for (; column < width; column += in->step, dark++) {
        int32_t triangle = who[column];
        *dark = triangle >= 0 && in->leans[triangle] >= 0.0 &&
                is_dark(in, triangle, (double)column + middle, y);
    }
}

/* What a row of pixels has of the noise: room for LANES more than the picture has columns. */
struct spots {
    const float *xs;
    float *noise, *contrasts;
};

/* The noise of pixels of one triangle; behind them up to LANES - 1 more are written. */
INLINE void cells(const struct grain *of, const float *row, const struct spots *in, float y,
                  int64_t begin, int64_t end)
{
    float a = row[0], b = row[1], c = row[2] * y, finest = row[9], lean = row[10];
    float across = row[3], across_x = row[4], across_y = row[5] * y, least = of->least;
    float along = row[6], along_x = row[7], along_y = row[8] * y, contrast = row[11];
    const float *restrict xs = in->xs;
    int32_t power = of->power, last = of->levels - 1;
    float *restrict noise = in->noise, *restrict contrasts = in->contrasts;
    for (int64_t i = begin; i < end; i += LANES) {
        int32_t levels[LANES], places[LANES];
        for (int k = 0; k < LANES; k++) {
            float x = xs[i + k], inverse = (a + b * x) + c;
            float depth = 1.0f / (inverse < least ? least : inverse), slope = lean * depth;
            union {
                float number;
                int32_t bits;
            } covered = {depth * depth * finest * sqrtf(1.0f + slope * slope)};
            int32_t u = (int32_t)floorf(((across + across_x * x) + across_y) * depth);
            int32_t v = (int32_t)floorf(((along + along_x * x) + along_y) * depth);
            int32_t level = ((covered.bits >> 23) - (127 - 2)) >> 1;
            level = level < 0 ? 0 : level;
            level = level > last ? last : level;
            int32_t ways = power - level, mask = (1 << ways) - 1;
            levels[k] = level;
            places[k] = ((v >> level & mask) << ways) + (u >> level & mask);
        }
        for (int k = 0; k < LANES; k++) {
            noise[i + k] = (float)of->noise[of->starts[levels[k]] + places[k]];
            contrasts[i + k] = contrast;
        }
    }
}

/* Colours with the brightness that the noise gives them. */
INLINE void light_up(const struct spots *in, int64_t width, uint32_t *restrict pixels)
{
    const float *restrict noise = in->noise, *restrict contrasts = in->contrasts;
    for (int64_t i = 0; i < width; i++) {
        float gain = noise[i] * contrasts[i] + 256.0f;
        uint32_t bright = (uint32_t)(int32_t)(gain > 0.0f ? gain : 0.0f), colour = pixels[i];
        uint32_t blue = ((colour & 0xFF) * bright) >> 8;
        uint32_t green = ((colour >> 8 & 0xFF) * bright) >> 8;
        uint32_t red = ((colour >> 16 & 0xFF) * bright) >> 8;
        blue = blue < 0xFF ? blue : 0xFF;
        green = green < 0xFF ? green : 0xFF;
        red = red < 0xFF ? red : 0xFF;
        pixels[i] = (colour & 0xFF000000) | red << 16 | green << 8 | blue;
    }
}

/* One row of a picture. */
struct line {
    int64_t width;
    const int32_t *who;  /* triangles, -1: the sky */
    const uint8_t *dark; /* cells */
    uint32_t *pixels;
};

static void shade_line(const struct shadows *in, const struct line *of, int64_t cells_of_row)
{
    for (int64_t cell = 0; cell < cells_of_row; cell++) {
        int64_t begin = cell * in->step;
        int64_t end = cell + 1 < cells_of_row ? begin + in->step : of->width;
        for (int64_t i = begin; of->dark[cell] && i < end; i++)
            if (of->who[i] >= 0)
                of->pixels[i] = in->in_shade[of->who[i]];
    }
}

WIDE static void grain_line(const struct grain *in, const struct line *of,
                            const struct spots *spots, float y)
{
    for (int64_t begin = 0, end = 0; begin < of->width; begin = end) {
        int32_t triangle = of->who[begin];
        while (end < of->width && of->who[end] == triangle)
            end++;
        if (triangle >= 0)
            cells(in, in->table + 12 * (int64_t)triangle, spots, y, begin, end);
        else
            for (int64_t i = begin; i < end; i++) {
                spots->noise[i] = spots->contrasts[i] = 0.0f;
            }
    }
    light_up(spots, of->width, of->pixels);
}

/* The colours of a picture.
 *
 * found, sizes: pieces with one triangle each, -1: the sky
 * in_sun: colours of triangles; NULL: pixels have theirs
 * shadows, grain: NULL: there is none
 * sky: pixels of the rows from first to before last: no other row has sky
 * Returns below 0: there is no memory.
 */
EXPORTED int64_t cosim_paint(int64_t width, int64_t height, const int64_t *found,
                             const int64_t *sizes, const uint32_t *in_sun,
                             const struct shadows *shadows, const struct grain *grain,
                             const uint32_t *sky, int64_t first, int64_t last, uint32_t *pixels)
{
    int64_t step = shadows ? shadows->step : 1, left = 0, begun = 0;
    int64_t cells_of_row = (width - step / 2 + step - 1) / step;
    int32_t *who = malloc(sizeof *who * (size_t)(width * step));
    float *noise = malloc(sizeof *noise * (size_t)(width + LANES));
    float *xs = malloc(sizeof *xs * (size_t)(width + LANES));
    float *contrasts = malloc(sizeof *contrasts * (size_t)(width + LANES));
    uint8_t *dark = calloc((size_t)(cells_of_row + 1), 1);
    struct spots spots = {xs, noise, contrasts};
    int64_t result = who && noise && xs && contrasts && dark ? 0 : -1;
    for (int64_t i = 0; result == 0 && i < width + LANES; i++)
        xs[i] = (float)((double)i + (0.5 - 0.5 * (double)width));
    for (int64_t top = 0; result == 0 && top < height; top += step) {
        int64_t rows = top + step < height ? step : height - top;
        for (int64_t i = 0; i < rows * width;) {
            if (!left)
                left = sizes[begun];
            int64_t end = i + left < rows * width ? i + left : rows * width;
            int32_t triangle = (int32_t)found[begun];
            uint32_t colour = triangle < 0 || !in_sun ? 0 : in_sun[triangle];
            left -= end - i;
            begun += left == 0;
            for (int64_t n = i; in_sun && n < end; n++)
                pixels[top * width + n] = colour;
            for (; i < end; i++)
                who[i] = triangle;
        }
        if (shadows && step / 2 < rows)
            darken(shadows, who + step / 2 * width, top + step / 2, width, height, dark);
        for (int64_t row = top; row < top + rows; row++) {
            struct line line = {width, who + (row - top) * width, dark,
                                pixels + row * width};
            if (shadows)
                shade_line(shadows, &line, cells_of_row);
            if (grain)
                grain_line(grain, &line, &spots,
                           (float)((double)row + (0.5 - 0.5 * (double)height)));
            for (int64_t i = 0; row >= first && row < last && i < width; i++)
                line.pixels[i] = line.who[i] < 0 ? sky[(row - first) * width + i] : line.pixels[i];
        }
    }
    free(dark);
    free(contrasts);
    free(xs);
    free(noise);
    free(who);
    return result;
}
