/* Pieces of SVG pictures: coordinates in pixels, looks by classes of the style sheet that the picture begins with. The
 * classes "soft" and "title" are there in all. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdio.h>

void svg_begin(FILE *to, double width, double height, const char *style);
void svg_end(FILE *to);
/* `anchor`: start, middle or end. The text is escaped. */
void svg_text(FILE *to, double x, double y, const char *anchor, const char *class_name, const char *text);
void svg_rect(FILE *to, double x, double y, double width, double height, const char *class_name);
void svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *class_name);
void svg_circle(FILE *to, double x, double y, double radius, const char *class_name);

#endif
