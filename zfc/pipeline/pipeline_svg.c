// A chart of times (SVG): tracks of reading, copies and decodes, with a bar a unit, coloured by column. It needs nothing else,
// and is legible on light and dark grounds.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "zfc/pipeline/pipelining.h"

enum {
    WIDTH = 1200,
    LEFT = 80, ///< where time begins
    RIGHT = 20,
    TOP = 56,
    LANE = 18,       ///< height of a lane
    LANES_MOST = 24, ///< of a track: bars that would need more are drawn over others
    GAP = 14,        ///< between tracks
    LEGEND_COLUMN = 220,
    LEGEND_LINE = 18
};

typedef enum { READ, COPY, DECODE, TRACKS } track;
static const char *const track_names[TRACKS] = {"read", "copy", "decode"};
static const char *const track_verbs[TRACKS] = {"read", "copied", "decoded"};

typedef struct bar {
    size_t unit;
    double begin, end;
    unsigned lane;
} bar;

typedef struct chart {
    const zf_pipe_view *view;
    zf_batch_unit *units;
    size_t count;
    double end; ///< seconds
    bar *bars[TRACKS];
    size_t bar_count[TRACKS];
    unsigned lanes[TRACKS];
} chart;

/// Prints text within an element or an attribute. Characters that XML cannot hold become question marks.
static void put_text(zf_text *out, const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        size_t length = zf_utf8_length(text, left);
        unsigned char c = (unsigned char)*text;
        if (length == 0 || c < 0x20 || c == 0x7f || zf_utf8_unshown(text, left) > 0)
            zf_text_puts(out, "?");
        else if (c == '<' || c == '>' || c == '&' || c == '"')
            zf_text_puts(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : "&quot;");
        else
            zf_text_add(out, text, length);
        text += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
}

/// Hues a golden angle apart, in three shades in turn: of few columns no two are alike.
static void put_colour(zf_text *out, size_t column) {
    static const int shades[] = {52, 42, 62};
    zf_text_printf(out, "hsl(%.0f 60%% %d%%)", fmod((double)column * 137.508, 360), shades[column % 3]);
}

static double x_of(const chart *c, double seconds) { return (double)LEFT + seconds / c->end * (double)(WIDTH - LEFT - RIGHT); }

// ---- Drawing --------------------------------------------------------------------------------------------------

static int by_begin(const void *a, const void *b) {
    const bar *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/// Puts bars that overlap on lanes of their own.
static void place(chart *c, track t) {
    double free_at[LANES_MOST];
    for (size_t i = 0; i < LANES_MOST; i++) free_at[i] = -INFINITY;
    qsort(c->bars[t], c->bar_count[t], sizeof *c->bars[t], by_begin);
    for (size_t i = 0; i < c->bar_count[t]; i++) {
        bar *b = &c->bars[t][i];
        unsigned lane = 0;
        while (lane + 1 < LANES_MOST && free_at[lane] > b->begin + 1e-9) lane++;
        b->lane = lane;
        free_at[lane] = b->end;
        if (lane + 1 > c->lanes[t]) c->lanes[t] = lane + 1;
    }
}

static void add_bar(chart *c, track t, size_t unit, double begin, double end) {
    if (!(end > begin)) return; // nothing to do, or not done
    c->bars[t][c->bar_count[t]++] = (bar){unit, begin, end, 0};
    if (end > c->end) c->end = end;
}

static bool collect(chart *c) {
    zf_error error;
    size_t units = c->view->info.units;
    c->units = calloc(units + 1, sizeof *c->units);
    for (int t = 0; t < TRACKS; t++) {
        c->bars[t] = calloc(units + 1, sizeof *c->bars[t]);
        if (c->bars[t] == NULL) return false;
    }
    if (c->units == NULL) return false;
    for (; c->count < units; c->count++) {
        zf_batch_unit *unit = &c->units[c->count];
        if (zf_batch_unit_get(c->view->batch, c->count, unit, &error) != ZF_OK) break;
        const zf_unit_times *m = c->view->planned ? &unit->predicted : &unit->measured;
        add_bar(c, READ, c->count, m->read_begin, m->read_end);
        add_bar(c, COPY, c->count, m->copy_begin, m->copy_end);
        add_bar(c, DECODE, c->count, m->decode_begin, m->decode_end);
    }
    if (c->end <= 0) c->end = 1e-6;
    for (int t = 0; t < TRACKS; t++) place(c, (track)t);
    return true;
}

// ---- Drawing --------------------------------------------------------------------------------------------------

static void draw_head(const chart *c, int height, zf_text *out) {
    const zf_pipe_view *v = c->view;
    double seconds = v->planned ? v->info.predicted_seconds : zf_pipe_seconds_of(v).last;
    zf_text_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
                   "<title>zfc pipeline</title>\n<style>\n"
                   "svg { background: #ffffff; color: #1c1c1c; font: 12px sans-serif; }\n"
                   "@media (prefers-color-scheme: dark) { svg { background: #16181c; color: #e4e4e4; } }\n"
                   "text { fill: currentColor; }\n.grid { stroke: currentColor; stroke-opacity: 0.18; }\n"
                   ".h { font-size: 15px; font-weight: 600; }\n.s { fill-opacity: 0.75; }\n</style>\n",
                   WIDTH, height, WIDTH, height);
    zf_text_printf(out, "<text class=\"h\" x=\"%d\" y=\"22\">%zu column%s on ", LEFT, v->requests, v->requests == 1 ? "" : "s");
    put_text(out, v->device);
    zf_text_printf(out, ", %s: %.3f ms</text>\n", v->planned ? "as predicted" : "as measured", seconds * 1e3);
    zf_text_printf(
        out, "<text class=\"s\" x=\"%d\" y=\"40\">order %s, %zu units; predicted %.3f ms, at least %.3f ms in any order</text>\n",
        LEFT, v->order, v->info.units, v->info.predicted_seconds * 1e3, v->info.bound_seconds * 1e3);
}

/// Lines at round times, with their milliseconds below.
static void draw_axis(const chart *c, int bottom, zf_text *out) {
    double raw = c->end / 8, power = pow(10, floor(log10(raw))), step = power * 10;
    const double nice[] = {1, 2, 5};
    for (int i = 2; i >= 0; i--) {
        if (power * nice[i] >= raw) step = power * nice[i];
    }
    int digits = step >= 1e-3 ? 0 : (int)ceil(-log10(step * 1e3) - 1e-9);
    for (int k = 0; (double)k * step <= c->end * (1 + 1e-9); k++) {
        double x = x_of(c, (double)k * step);
        zf_text_printf(out, "<line class=\"grid\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, TOP - 6, bottom);
        zf_text_printf(out, "<text class=\"s\" x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%.*f%s</text>\n", x, bottom + 14,
                       digits, (double)k * step * 1e3, k == 0 ? " ms" : "");
    }
}

static void draw_bar(const chart *c, track t, const bar *b, int top, zf_text *out) {
    const zf_batch_unit *unit = &c->units[b->unit];
    const zf_piped *column = c->view->of_request[unit->request];
    double x = x_of(c, b->begin), width = x_of(c, b->end) - x;
    char bytes[32];
    zf_text_printf(out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"", x, top + (int)b->lane * LANE,
                   width > 0.6 ? width : 0.6, LANE - 3);
    put_colour(out, (size_t)(column - c->view->columns));
    zf_text_puts(out, "\"><title>");
    put_text(out, column->label);
    zf_text_printf(out, ", rows %llu to %llu, %s: %s %.3f to %.3f ms</title></rect>\n", (unsigned long long)unit->first_row,
                   (unsigned long long)(unit->first_row + unit->rows), zf_bytes_text(unit->stored_bytes, bytes), track_verbs[t],
                   b->begin * 1e3, b->end * 1e3);
}

/// Below the tracks; returns where it ends.
static int draw_legend(const chart *c, int top, zf_text *out) {
    int across = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMN;
    for (size_t r = 0; r < c->view->requests; r++) {
        const zf_piped *column = c->view->of_request[r];
        int x = LEFT + (int)r % across * LEGEND_COLUMN, y = top + (int)r / across * LEGEND_LINE;
        if (out == NULL) continue;
        zf_text_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"", x, y);
        put_colour(out, (size_t)(column - c->view->columns));
        zf_text_printf(out, "\"/>\n<text x=\"%d\" y=\"%d\">", x + 18, y + 10);
        put_text(out, column->label);
        zf_text_puts(out, column->failed ? " (failed)</text>\n" : "</text>\n");
    }
    return top + ((int)c->view->requests + across - 1) / across * LEGEND_LINE;
}

void zf_pipe_draw(const zf_pipe_view *view, zf_text *out) {
    chart c = {.view = view};
    if (!collect(&c)) {
        out->failed = true;
    } else {
        int y = TOP, tops[TRACKS];
        for (int t = 0; t < TRACKS; t++) {
            tops[t] = y;
            if (c.lanes[t] > 0) y += (int)c.lanes[t] * LANE + GAP;
        }
        int legend = y + 30;
        draw_head(&c, draw_legend(&c, legend, NULL) + 10, out);
        draw_axis(&c, y, out);
        for (int t = 0; t < TRACKS; t++) {
            if (c.lanes[t] == 0) continue;
            zf_text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n<g id=\"%s\">\n", LEFT - 10, tops[t] + 12,
                           track_names[t], track_names[t]);
            for (size_t i = 0; i < c.bar_count[t]; i++) draw_bar(&c, (track)t, &c.bars[t][i], tops[t], out);
            zf_text_puts(out, "</g>\n");
        }
        draw_legend(&c, legend, out);
        zf_text_puts(out, "</svg>\n");
    }
    for (int t = 0; t < TRACKS; t++) free(c.bars[t]);
    free(c.units);
}
