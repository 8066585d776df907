//! Section 6: text that is UTF-8, and text that is not.

use super::{
    case::Case,
    wire::{CONTINUATION, TEXT, fragments, last, more},
};

/// Letters of two and three bytes.
const GREEK: &str = "κόσμε";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = texts_in_pieces();
    cases.extend(truncated());
    for (section, texts) in VALID {
        cases.extend(numbered(section, texts, |number, text| {
            Case::new(number)
                .sends([last(TEXT, &text_frame(text.as_bytes()))])
                .expects_reply(1)
        }));
    }
    for (section, texts) in INVALID {
        cases.extend(numbered(section, texts, |number, bytes| {
            Case::new(number)
                .sends([last(TEXT, &text_frame(bytes))])
                .expects_close(1007)
        }));
    }
    cases.extend(surrogate_cases());
    cases.extend(no_characters());
    cases
}

fn numbered<T>(section: &str, all: &[T], case: impl Fn(String, &T) -> Case) -> Vec<Case> {
    let numbers = all.iter().zip(1..);
    numbers
        .map(|(it, number)| case(format!("{section}.{number}"), it))
        .collect()
}

/// A command with these bytes in an unknown member: it is parsed, and rejected under its own id.
fn text_frame(bytes: &[u8]) -> Vec<u8> {
    [br#"{"id":1,"type":"ping","word":""#, bytes, br#""}"#].concat()
}

/// The same text, whole and in pieces.
fn texts_in_pieces() -> Vec<Case> {
    let good = text_frame(GREEK.as_bytes());
    let bad = text_frame(b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80edited");
    let other = text_frame("Hello-µ@ßöäüàá-UTF-8!!".as_bytes());
    // The last byte of the first fragment ends a character.
    let start = text_frame("κό".as_bytes()).len() - 2;
    let in_two = [
        more(TEXT, &good[..start]),
        last(CONTINUATION, &good[start..]),
    ];
    let middle = [
        more(TEXT, b""),
        more(CONTINUATION, &good),
        last(CONTINUATION, b""),
    ];
    let empty = [
        more(TEXT, b""),
        more(CONTINUATION, b""),
        last(CONTINUATION, b""),
    ];
    let mut cases = vec![
        Case::new("6.1.1")
            .sends([last(TEXT, b"")])
            .expects_reply(None),
        Case::new("6.1.2").sends(empty).expects_reply(None),
        Case::new("6.1.3").sends(middle).expects_reply(1),
        Case::new("6.2.1")
            .sends([last(TEXT, &other)])
            .expects_reply(1),
        Case::new("6.2.2").sends(in_two).expects_reply(1),
        Case::new("6.2.3")
            .sends(fragments(&other, 1))
            .expects_reply(1),
        Case::new("6.2.4")
            .sends(fragments(&good, 1))
            .expects_reply(1),
        Case::new("6.3.1")
            .sends([last(TEXT, &bad)])
            .expects_close(1007),
        Case::new("6.3.2")
            .sends(fragments(&bad, 1))
            .expects_close(1007),
    ];
    // A server may validate only whole messages.
    let beyond = text_frame(b"\xce\xba\xf4\x90\x80\x80edited");
    for (number, message, size) in [
        ("6.4.1", &bad, 34),
        ("6.4.2", &beyond, 33),
        ("6.4.3", &bad, 37),
        ("6.4.4", &beyond, 35),
    ] {
        let case = Case::new(number).sends(fragments(message, size));
        cases.push(case.expects_close(1007));
    }
    cases.push(
        Case::new("6.4.3 apart")
            .sends(fragments(&bad, 37))
            .in_writes_of(37)
            .expects_close(1007),
    );
    cases
}

/// Each prefix of a text, by bytes: valid UTF-8 only at character boundaries.
fn truncated() -> Vec<Case> {
    let bytes = GREEK.as_bytes();
    let cut = |end: usize| {
        let case = Case::new(format!("6.6.{end}")).sends([last(TEXT, &text_frame(&bytes[..end]))]);
        if GREEK.is_char_boundary(end) {
            case.expects_reply(1)
        } else {
            case.expects_close(1007)
        }
    };
    (1..=bytes.len()).map(cut).collect()
}

const VALID: [(&str, &[&str]); 5] = [
    (
        "6.5",
        &[
            "hello$world",
            "hello¢world",
            "hello€world",
            "hello𤭢world",
            GREEK,
        ],
    ),
    ("6.7", &["\u{20}", "\u{80}", "\u{800}", "\u{10000}"]),
    ("6.9", &["\u{7f}", "\u{7ff}", "\u{ffff}", "\u{10ffff}"]),
    ("6.11", &["\u{d7ff}", "\u{e000}", "\u{fffd}", "\u{10ffff}"]),
    (
        "6.23",
        &[
            "\u{fff9}", "\u{fffa}", "\u{fffb}", "\u{fffc}", "\u{fffd}", "\u{fffe}", "\u{ffff}",
        ],
    ),
];

const INVALID: [(&str, &[&[u8]]); 11] = [
    // Five and six bytes.
    (
        "6.8",
        &[b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"],
    ),
    (
        "6.10",
        &[
            b"\xf7\xbf\xbf\xbf",
            b"\xfb\xbf\xbf\xbf\xbf",
            b"\xfd\xbf\xbf\xbf\xbf\xbf",
        ],
    ),
    ("6.11 beyond", &[b"\xf4\x90\x80\x80"]),
    // Continuation bytes without a start.
    (
        "6.12",
        &[
            b"\x80",
            b"\xbf",
            b"\x80\xbf",
            b"\x80\xbf\x80",
            b"\x80\xbf\x80\xbf",
            b"\x80\xbf\x80\xbf\x80",
            b"\x80\xbf\x80\xbf\x80\xbf",
            b"\x80\x81\x82\x83\x8f\x90\x9f\xa0\xaf\xb0\xbf",
        ],
    ),
    // Start bytes without continuations.
    (
        "6.13",
        &[
            b"\xc0 \xdf ",
            b"\xe0 \xef ",
            b"\xf0 \xf7 ",
            b"\xf8 \xfb ",
            b"\xfc \xfd ",
        ],
    ),
    // The last byte is missing.
    (
        "6.14",
        &[
            b"\xc0",
            b"\xe0\x80",
            b"\xf0\x80\x80",
            b"\xf8\x80\x80\x80",
            b"\xfc\x80\x80\x80\x80",
            b"\xdf",
            b"\xef\xbf",
            b"\xf7\xbf\xbf",
            b"\xfb\xbf\xbf\xbf",
            b"\xfd\xbf\xbf\xbf\xbf",
        ],
    ),
    (
        "6.15",
        &[b"\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xdf\xef\xbf\xf7\xbf\xbf"],
    ),
    // Bytes that never occur in UTF-8.
    ("6.16", &[b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"]),
    // Overlong encodings.
    (
        "6.17",
        &[
            b"\xc0\xaf",
            b"\xe0\x80\xaf",
            b"\xf0\x80\x80\xaf",
            b"\xf8\x80\x80\x80\xaf",
            b"\xfc\x80\x80\x80\x80\xaf",
        ],
    ),
    (
        "6.18",
        &[
            b"\xc1\xbf",
            b"\xe0\x9f\xbf",
            b"\xf0\x8f\xbf\xbf",
            b"\xf8\x87\xbf\xbf\xbf",
            b"\xfc\x83\xbf\xbf\xbf\xbf",
        ],
    ),
    (
        "6.19",
        &[
            b"\xc0\x80",
            b"\xe0\x80\x80",
            b"\xf0\x80\x80\x80",
            b"\xf8\x80\x80\x80\x80",
            b"\xfc\x80\x80\x80\x80\x80",
        ],
    ),
];

/// Halves of surrogate pairs in three bytes each, alone and in pairs.
fn surrogate_cases() -> Vec<Case> {
    let half = |unit: u16| {
        let tail = |bits: u16| 0x80 | u8::try_from(bits & 0x3f).expect("six bits");
        vec![0xed, tail(unit >> 6), tail(unit)]
    };
    let alone = [0xd800, 0xdb7f, 0xdb80, 0xdbff, 0xdc00, 0xdf80, 0xdfff].map(half);
    let mut pairs = Vec::new();
    for high in [0xd800, 0xdb7f, 0xdb80, 0xdbff] {
        for low in [0xdc00, 0xdfff] {
            pairs.push([half(high), half(low)].concat());
        }
    }
    let case = |number, bytes: &Vec<u8>| {
        let frame = last(TEXT, &text_frame(bytes));
        Case::new(number).sends([frame]).expects_close(1007)
    };
    let alone = numbered("6.20", &alone, case);
    alone
        .into_iter()
        .chain(numbered("6.21", &pairs, case))
        .collect()
}

/// The last two code points of every plane are no characters, but well-formed.
fn no_characters() -> Vec<Case> {
    let planes = 0..=0x10_u32;
    let points = planes.flat_map(|plane| [0xfffe, 0xffff].map(|low| plane << 16 | low));
    let texts: Vec<String> = points
        .filter_map(char::from_u32)
        .map(String::from)
        .collect();
    numbered("6.22", &texts, |number, text| {
        Case::new(number)
            .sends([last(TEXT, &text_frame(text.as_bytes()))])
            .expects_reply(1)
    })
}
