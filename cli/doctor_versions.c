/* Read from the file's sections: loading PyTorch's library would take seconds and a gigabyte. */
#include "cli/doctor_versions.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct image {
    const char *bytes;
    size_t size;
} image;

static image map_file(const char *path)
{
    image out = {NULL, 0};
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            out = (image){bytes, (size_t)about.st_size};
    }
    if (fd >= 0)
        close(fd);
    return out;
}

/* `bytes` at `offset`, NULL if the file is too short. */
static const void *at(const image *file, size_t offset, size_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset ? file->bytes + offset : NULL;
}

/* A text of a string table that ends within the file; "" if it does not. */
static const char *text_at(const image *file, const Elf64_Shdr *strings, size_t offset)
{
    const size_t start = strings->sh_offset + offset;
    return start < file->size && memchr(file->bytes + start, '\0', file->size - start) ? file->bytes + start : "";
}

/* The section of that type, and the string table that belongs to it. */
static const Elf64_Shdr *find_section(const image *file, unsigned type, const Elf64_Shdr **strings)
{
    const Elf64_Ehdr *header = at(file, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shentsize != sizeof(Elf64_Shdr))
        return NULL;
    const Elf64_Shdr *sections = at(file, header->e_shoff, header->e_shnum * sizeof *sections);
    for (unsigned i = 0; sections && i < header->e_shnum; i++)
        if (sections[i].sh_type == type && sections[i].sh_link < header->e_shnum) {
            *strings = &sections[sections[i].sh_link];
            return &sections[i];
        }
    return NULL;
}

static void append(char *out, size_t bytes, const char *text)
{
    const size_t used = strlen(out);
    snprintf(out + used, bytes - used, "%s%s", used ? ", " : "", text);
}

int cli_needed_versions(const char *path, const char *prefix, char *out, size_t bytes)
{
    image file = map_file(path);
    const Elf64_Shdr *strings = NULL, *section = file.bytes ? find_section(&file, SHT_GNU_verneed, &strings) : NULL;
    size_t offset = section ? section->sh_offset : 0;
    out[0] = '\0';
    for (unsigned i = 0; section && i < section->sh_info; i++) {
        const Elf64_Verneed *need = at(&file, offset, sizeof *need);
        size_t entry = need ? offset + need->vn_aux : 0;
        for (unsigned v = 0; need && v < need->vn_cnt; v++) {
            const Elf64_Vernaux *version = at(&file, entry, sizeof *version);
            const char *name = version ? text_at(&file, strings, version->vna_name) : "";
            if (strncmp(name, prefix, strlen(prefix)) == 0)
                append(out, bytes, name);
            entry += version ? version->vna_next : 0;
        }
        offset += need ? need->vn_next : 0;
    }
    if (file.bytes)
        munmap((void *)file.bytes, file.size);
    return out[0] != '\0';
}

static int defines(const image *file, const char *name, size_t length)
{
    const Elf64_Shdr *strings = NULL, *section = find_section(file, SHT_GNU_verdef, &strings);
    size_t offset = section ? section->sh_offset : 0;
    for (unsigned i = 0; section && i < section->sh_info; i++) {
        const Elf64_Verdef *definition = at(file, offset, sizeof *definition);
        const Elf64_Verdaux *first = definition ? at(file, offset + definition->vd_aux, sizeof *first) : NULL;
        const char *found = first ? text_at(file, strings, first->vda_name) : "";
        if (strlen(found) == length && strncmp(found, name, length) == 0)
            return 1;
        offset += definition ? definition->vd_next : 0;
    }
    return 0;
}

int cli_has_versions(const char *path, const char *list)
{
    image file = map_file(path);
    int good = file.bytes != NULL;
    while (good && *list) {
        const size_t length = strcspn(list, ",");
        good = defines(&file, list, length);
        list += length + strspn(list + length, ", ");
    }
    if (file.bytes)
        munmap((void *)file.bytes, file.size);
    return good;
}
