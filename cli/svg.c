#include "cli/svg.h"

void svg_begin(FILE *to, double width, double height, const char *style)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
            "<style>text{fill:#1b1f24} .soft{font:12px system-ui,sans-serif;fill:#626b75} .paper{fill:#ffffff} %s\n"
            "@media(prefers-color-scheme:dark){text{fill:#e6e9ed} .soft{fill:#9aa4af} .paper{fill:#14171a} "
            ".grid{stroke:#2b3138} .roof,.peak{stroke:#e6e9ed} .bound{fill:#14171a} "
            ".rooftext,.number,.ridgetext{stroke:#14171a} "
            ".ridgetext{fill:#9aa4af} .idealtext{fill:#5fbf8a} "
            ".peertext{fill:#f0a35a}}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n",
            width, height, width, height, style);
}

void svg_end(FILE *to)
{
    fputs("</svg>\n", to);
}

void svg_text(FILE *to, double x, double y, const char *anchor, const char *class_name, const char *text)
{
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class_name);
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '&')
            fputs("&amp;", to);
        else
            fputc((unsigned char)*text < ' ' ? '?' : *text, to);
    }
    fputs("</text>\n", to);
}

void svg_rect(FILE *to, double x, double y, double width, double height, const char *class_name)
{
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x, y, width, height,
            class_name);
}

void svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *class_name)
{
    fprintf(to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class_name);
}

void svg_circle(FILE *to, double x, double y, double radius, const char *class_name)
{
    fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>\n", x, y, radius, class_name);
}
