//! Pages of text and mathematics, written as Markdown, LaTeX or HTML.

use crate::math::Math;
use catena::text::shown;
use std::fmt::Write;

/// A piece of running text.
#[derive(Clone, Debug)]
pub enum Span {
    /// Words.
    Text(String),
    /// Mathematics among them.
    Math(Math),
}

/// An equation: left-hand side, and the terms of the right-hand side, each with whether it is subtracted.
#[derive(Clone, Debug)]
pub struct Line {
    /// What is defined.
    pub left: Math,
    /// Its definition.
    pub right: Vec<(bool, Math)>,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading.
    Heading(Vec<Span>),
    /// A smaller one.
    Subheading(Vec<Span>),
    /// Running text.
    Paragraph(Vec<Span>),
    /// Equations below each other.
    Equations(Vec<Line>),
    /// A table: its header, and its rows.
    Table(Vec<Vec<Span>>, Vec<Vec<Vec<Span>>>),
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Its contents.
    pub blocks: Vec<Block>,
}

/// Text with mathematics between dollar signs.
pub(super) fn spans(text: &str) -> Vec<Span> {
    text.split('$')
        .enumerate()
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(k, piece)| match k % 2 {
            0 => Span::Text(piece.into()),
            _ => Span::Math(Math::parse(piece)),
        })
        .collect()
}

/// Terms with their signs between them; 0 for none.
pub(super) fn joined(terms: &[(bool, Math)]) -> Math {
    let mut parts = Vec::new();
    for (k, (negative, size)) in terms.iter().enumerate() {
        match (k, negative) {
            (0, false) => {}
            (_, true) => parts.push(Math::operator("-")),
            (_, false) => parts.push(Math::operator("+")),
        }
        parts.push(size.clone());
    }
    match parts.is_empty() {
        true => Math::number(0),
        false => Math::Row(parts),
    }
}

/// Terms of a line are broken after about this many characters.
const WIDE: usize = 84;

impl Line {
    /// The right-hand side in rows that fit the page, each beginning with its sign.
    fn rows(&self) -> Vec<Math> {
        let mut rows = Vec::new();
        let (mut row, mut width) = (Vec::new(), self.left.width());
        for (k, (negative, size)) in self.right.iter().enumerate() {
            if width + size.width() > WIDE && !row.is_empty() {
                rows.push(Math::Row(std::mem::take(&mut row)));
                width = self.left.width();
            }
            match (k, negative) {
                (0, false) => {}
                (_, true) => row.push(Math::operator("-")),
                (_, false) => row.push(Math::operator("+")),
            }
            width += size.width() + 3;
            row.push(size.clone());
        }
        if self.right.is_empty() {
            row.push(Math::number(0));
        }
        rows.push(Math::Row(row));
        rows
    }

    fn latex(&self) -> String {
        let rows: Vec<String> = self.rows().iter().map(Math::latex).collect();
        format!(
            "{} &= {}",
            self.left.latex(),
            rows.join(" \\\\\n  &\\quad ")
        )
    }
}

fn plain(list: &[Span], math: impl Fn(&Math) -> String, text: impl Fn(&str) -> String) -> String {
    list.iter()
        .map(|span| match span {
            Span::Text(words) => text(words),
            Span::Math(inner) => math(inner),
        })
        .collect()
}

impl Document {
    /// Markdown with LaTeX mathematics.
    pub fn markdown(&self) -> String {
        let write = |list: &[Span]| plain(list, |m| format!("${}$", m.latex()), markdown_text);
        let mut text = format!("# {}\n", markdown_text(&self.title));
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Heading(list) => text += &format!("## {}\n", write(list)),
                Block::Subheading(list) => text += &format!("### {}\n", write(list)),
                Block::Paragraph(list) => text += &format!("{}\n", write(list)),
                Block::Equations(lines) => {
                    let lines: Vec<String> = lines.iter().map(Line::latex).collect();
                    let _ = writeln!(
                        text,
                        "$$\n\\begin{{aligned}}\n{}\n\\end{{aligned}}\n$$",
                        lines.join(" \\\\\n")
                    );
                }
                Block::Table(head, rows) => {
                    let cells = |row: &[Vec<Span>]| -> String {
                        let cells: Vec<String> = row.iter().map(|cell| write(cell)).collect();
                        format!("| {} |\n", cells.join(" | "))
                    };
                    text += &cells(head);
                    text += &format!("|{}\n", "---|".repeat(head.len()));
                    for row in rows {
                        text += &cells(row);
                    }
                }
            }
        }
        text
    }

    /// A LaTeX document that needs amsmath and geometry only.
    pub fn latex(&self) -> String {
        let write = |list: &[Span]| plain(list, |m| format!("${}$", m.latex()), latex_text);
        let mut text = format!(
            "\\documentclass[a4paper]{{article}}\n\\usepackage{{amsmath}}\n\\usepackage[margin=20mm]{{geometry}}\n\\allowdisplaybreaks\n\
             \\setcounter{{MaxMatrixCols}}{{40}}\n\\setlength{{\\parindent}}{{0pt}}\n\\setlength{{\\parskip}}{{4pt}}\n\\title{{{}}}\n\\author{{}}\n\\date{{}}\n\
             \\begin{{document}}\n\\maketitle\n",
            latex_text(&self.title)
        );
        for block in &self.blocks {
            match block {
                Block::Heading(list) => {
                    let _ = writeln!(text, "\n\\section*{{{}}}", write(list));
                }
                Block::Subheading(list) => {
                    let _ = writeln!(text, "\n\\subsection*{{{}}}", write(list));
                }
                Block::Paragraph(list) => {
                    let _ = writeln!(text, "\n{}\n", write(list));
                }
                Block::Equations(lines) => {
                    let lines: Vec<String> = lines.iter().map(Line::latex).collect();
                    let _ = writeln!(
                        text,
                        "\\begin{{align*}}\n{}\n\\end{{align*}}",
                        lines.join(" \\\\\n")
                    );
                }
                Block::Table(head, rows) => {
                    let cells = |row: &[Vec<Span>]| -> String {
                        let cells: Vec<String> = row.iter().map(|cell| write(cell)).collect();
                        format!("{} \\\\\n", cells.join(" & "))
                    };
                    // the last column holds sentences; of three columns all may be long
                    let columns = match head.len() {
                        0 | 1 => "l".to_string(),
                        3 => ["0.3", "0.27", "0.36"]
                            .map(|width| format!("p{{{width}\\textwidth}}"))
                            .concat(),
                        n => format!("{}p{{0.7\\textwidth}}", "l".repeat(n - 1)),
                    };
                    let _ = writeln!(text, "\n\\begin{{tabular}}{{{columns}}}");
                    text += &cells(head);
                    text.push_str("\\hline\n");
                    for row in rows {
                        text += &cells(row);
                    }
                    text.push_str("\\end{tabular}\n");
                }
            }
        }
        text.push_str("\n\\end{document}\n");
        text
    }

    /// A self-contained page: mathematics as MathML, which browsers render natively.
    pub fn html(&self) -> String {
        let write =
            |list: &[Span]| plain(list, |m| format!("<math>{}</math>", m.mathml()), escaped);
        let title = escaped(&self.title);
        let mut text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        for block in &self.blocks {
            match block {
                Block::Heading(list) => text += &format!("<h2>{}</h2>\n", write(list)),
                Block::Subheading(list) => text += &format!("<h3>{}</h3>\n", write(list)),
                Block::Paragraph(list) => text += &format!("<p>{}</p>\n", write(list)),
                Block::Equations(lines) => {
                    text.push_str("<div class=\"equations\"><math display=\"block\"><mtable>\n");
                    for line in lines {
                        for (k, row) in line.rows().iter().enumerate() {
                            let left = match k {
                                0 => line.left.mathml(),
                                _ => String::new(),
                            };
                            let sign = if k == 0 { "<mo>=</mo>" } else { "" };
                            let _ = writeln!(
                                text,
                                "<mtr><mtd>{left}</mtd><mtd>{sign}</mtd><mtd>{}</mtd></mtr>",
                                row.mathml()
                            );
                        }
                    }
                    text.push_str("</mtable></math></div>\n");
                }
                Block::Table(head, rows) => {
                    let cells = |row: &[Vec<Span>], element: &str| -> String {
                        let cells: String = row
                            .iter()
                            .map(|cell| format!("<{element}>{}</{element}>", write(cell)))
                            .collect();
                        format!("<tr>{cells}</tr>\n")
                    };
                    text.push_str("<table class=\"words\">\n");
                    text += &cells(head, "th");
                    for row in rows {
                        text += &cells(row, "td");
                    }
                    text.push_str("</table>\n");
                }
            }
        }
        text.push_str("</main>\n</body>\n</html>\n");
        text
    }
}

const STYLE: &str = "\
body { margin: 0; background: #fff; color: #1a1a1a; font: 16px/1.5 Georgia, 'Times New Roman', serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; border-bottom: 2px solid #1a1a1a; padding-bottom: .3rem; }
h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #bbb; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; }
.equations { overflow-x: auto; margin: .4rem 0 .8rem; }
.equations math { width: max-content; margin: 0 0 0 1rem; }
.equations > math > mtable > mtr > mtd { text-align: left; padding: .15em .2em; }
.equations > math > mtable > mtr > mtd:first-child { text-align: right; }
table.words { border-collapse: collapse; font-size: .95rem; margin: .6rem 0 1rem; }
table.words th, table.words td { border: 1px solid #ccc; padding: .2rem .6rem; text-align: left; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e6e6e6; } h1 { border-color: #e6e6e6; } }
@media print { main { max-width: none; padding: 0; } .equations { overflow: visible; } }
";

/// Text for Markdown: characters that would be read as markup, mathematics or the end of a cell are escaped.
fn markdown_text(text: &str) -> String {
    let mut written = String::new();
    for c in shown(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '$' | '&' | '~'
        ) {
            written.push('\\');
        }
        written.push(c);
    }
    written
}

fn escaped(text: &str) -> String {
    shown(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Text for LaTeX; characters that its fonts lack become question marks.
fn latex_text(text: &str) -> String {
    let mut written = String::new();
    for c in shown(text).chars() {
        match c {
            '\\' => written.push_str("\\textbackslash{}"),
            '~' => written.push_str("\\textasciitilde{}"),
            '^' => written.push_str("\\textasciicircum{}"),
            '_' | '&' | '%' | '#' | '{' | '}' | '$' => {
                written.push('\\');
                written.push(c);
            }
            '–' => written.push_str("--"),
            '’' => written.push('\''),
            c if c.is_ascii() || ('\u{a0}'..='\u{ff}').contains(&c) => written.push(c),
            _ => written.push('?'),
        }
    }
    written
}
