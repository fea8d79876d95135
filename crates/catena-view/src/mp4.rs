//! MP4 files of one track of H.264, from pictures that are already encoded.
//!
//! A file is boxes, each with its length and a name of four letters; ISO/IEC 14496-12 and -15 describe them. The index (`moov`) comes before
//! the pictures (`mdat`), so that a page can play the movie while it loads.

/// An encoded movie.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Movie {
    /// Width and height in pixels.
    pub(crate) size: [u32; 2],
    /// Pictures per second.
    pub(crate) rate: f64,
    /// Configuration of the decoder: the record of H.264 that MP4 calls `avcC`.
    pub(crate) description: Vec<u8>,
    /// The pictures.
    pub(crate) pictures: Vec<Encoded>,
}

/// An encoded picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Encoded {
    /// Whether it can be decoded without the pictures before it.
    pub(crate) key: bool,
    pub(crate) data: Vec<u8>,
}

/// Ticks of the clock in a second: rates with three decimals are exact.
const TICKS: f64 = 90_000.0;

impl Movie {
    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let start = boxed(
            b"ftyp",
            &[b"isom", &word(512), b"isom", b"iso2", b"avc1", b"mp41"],
        );
        // the offset of the pictures does not change the length of the index
        let length = start.len() + self.index(0).len();
        let mut file = start;
        file.extend(self.index(length + 8));
        let pictures: Vec<&[u8]> = self.pictures.iter().map(|p| &p.data[..]).collect();
        file.extend(boxed(b"mdat", &pictures));
        file
    }

    /// Start of a picture in ticks.
    fn tick(&self, picture: usize) -> u32 {
        (TICKS * picture as f64 / self.rate).round() as u32
    }

    fn index(&self, begin: usize) -> Vec<u8> {
        let duration = word(self.tick(self.pictures.len()) as usize);
        let ticks = word(TICKS as usize);
        let times: &[u8] = &[0; 8]; // times of creation and modification: omitted, so that the same pictures give the same file
        let [width, height] = self.size;
        let movie = [
            times,
            &ticks,
            &duration,
            &MOVIE_HEADER,
            &MATRIX,
            &[0; 24],
            &word(2),
        ]
        .concat();
        let track = [
            times,
            &word(1),
            &[0; 4],
            &duration,
            &[0; 16],
            &MATRIX,
            &word((width as usize) << 16),
            &word((height as usize) << 16),
        ]
        .concat();
        let undetermined = 0x55c4_0000; // the language
        let media = [times, &ticks, &duration, &word(undetermined)].concat();
        let handler = [&[0; 4], &b"vide"[..], &[0; 12], b"\0"].concat();
        let reference = full(b"dref", 0, &[&word(1), &full(b"url ", 1, &[])]);
        let information = boxed(
            b"minf",
            &[
                &full(b"vmhd", 1, &[&[0; 8]]),
                &boxed(b"dinf", &[&reference]),
                &self.samples(begin),
            ],
        );
        let media = boxed(
            b"mdia",
            &[
                &full(b"mdhd", 0, &[&media]),
                &full(b"hdlr", 0, &[&handler]),
                &information,
            ],
        );
        let track = boxed(b"trak", &[&full(b"tkhd", 3, &[&track]), &media]);
        boxed(b"moov", &[&full(b"mvhd", 0, &[&movie]), &track])
    }

    /// The table of the pictures; the first begins at this byte of the file.
    fn samples(&self, begin: usize) -> Vec<u8> {
        let count = self.pictures.len();
        let short = |x: u32| (x as u16).to_be_bytes();
        let [width, height] = self.size.map(short);
        let entry = [
            &[0, 0, 0, 0, 0, 0, 0, 1][..],
            &[0; 16],
            &width,
            &height,
            &[0, 72, 0, 0, 0, 72, 0, 0, 0, 0, 0, 0, 0, 1], // dots per inch; one picture in a sample
            &[0; 32],
            &[0, 24, 0xff, 0xff],
            &boxed(b"avcC", &[&self.description]),
        ];
        let description = full(b"stsd", 0, &[&word(1), &boxed(b"avc1", &entry)]);
        let list =
            |numbers: Vec<usize>| -> Vec<u8> { numbers.into_iter().flat_map(word).collect() };
        let durations = (0..count).flat_map(|k| [1, (self.tick(k + 1) - self.tick(k)) as usize]);
        let keys = self.pictures.iter().enumerate().filter(|(_, p)| p.key);
        let keys: Vec<usize> = keys.map(|(k, _)| k + 1).collect();
        let sizes = self.pictures.iter().map(|p| p.data.len()).collect();
        boxed(
            b"stbl",
            &[
                &description,
                &full(b"stts", 0, &[&word(count), &list(durations.collect())]),
                &full(b"stss", 0, &[&word(keys.len()), &list(keys)]),
                &full(b"stsc", 0, &[&list(vec![1, 1, count, 1])]),
                &full(b"stsz", 0, &[&list(vec![0, count]), &list(sizes)]),
                &full(b"stco", 0, &[&list(vec![1, begin])]),
            ],
        )
    }
}

/// Normal speed, full volume, reserved.
const MOVIE_HEADER: [u8; 16] = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Neither rotated nor scaled.
const MATRIX: [u8; 36] = [
    0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0x40, 0, 0, 0,
];

fn word(x: usize) -> [u8; 4] {
    (x as u32).to_be_bytes()
}

/// A box of parts.
fn boxed(name: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let inside: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(8 + inside);
    bytes.extend(word(8 + inside));
    bytes.extend(name);
    parts.iter().for_each(|part| bytes.extend(*part));
    bytes
}

/// A box with a version, which is 0, and flags.
fn full(name: &[u8; 4], flags: usize, parts: &[&[u8]]) -> Vec<u8> {
    let flags = word(flags);
    let parts: Vec<&[u8]> = std::iter::once(&flags[..])
        .chain(parts.iter().copied())
        .collect();
    boxed(name, &parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The boxes of a list: names and contents.
    fn boxes(mut bytes: &[u8]) -> Vec<(String, &[u8])> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let length = u32::from_be_bytes(bytes[..4].try_into().expect("a length")) as usize;
            let name = String::from_utf8_lossy(&bytes[4..8]).into_owned();
            found.push((name, &bytes[8..length]));
            bytes = &bytes[length..];
        }
        found
    }

    fn inside<'a>(bytes: &'a [u8], path: &[&str]) -> &'a [u8] {
        path.iter().fold(bytes, |bytes, name| {
            let found = boxes(bytes).into_iter().find(|(own, _)| own == name);
            found.unwrap_or_else(|| panic!("no {name}")).1
        })
    }

    /// The index leads to every picture, and its durations add up.
    #[test]
    fn the_index_leads_to_the_pictures() {
        let data = [vec![1; 50], vec![2; 7], vec![3; 11]];
        let movie = Movie {
            size: [320, 200],
            rate: 29.97,
            description: vec![9; 5],
            pictures: data
                .iter()
                .enumerate()
                .map(|(k, data)| Encoded {
                    key: k != 1,
                    data: data.clone(),
                })
                .collect(),
        };
        let file = movie.file();
        let names: Vec<String> = boxes(&file).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["ftyp", "moov", "mdat"]);
        let table = inside(&file, &["moov", "trak", "mdia", "minf", "stbl"]);
        let numbers = |name: &str| -> Vec<u32> {
            let bytes = inside(table, &[name]).chunks_exact(4);
            bytes
                .map(|b| u32::from_be_bytes(b.try_into().expect("four bytes")))
                .collect()
        };
        assert_eq!(numbers("stsz"), [0, 0, 3, 50, 7, 11]);
        assert_eq!(numbers("stss"), [0, 2, 1, 3]);
        let begin = numbers("stco")[2] as usize;
        assert_eq!(file[begin..], data.concat());
        let durations = numbers("stts");
        let sum: u32 = durations[3..].iter().step_by(2).sum();
        assert_eq!(sum, (3.0 * TICKS / 29.97).round() as u32);
    }
}
