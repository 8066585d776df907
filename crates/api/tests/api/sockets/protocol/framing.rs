//! Sections 1 to 5: sizes of frames, pings and pongs, reserved bits, opcodes, fragments.

use super::{
    case::Case,
    command,
    wire::{BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame_with_reserved_bits, last, more},
};

const SIZES: [usize; 7] = [0, 125, 126, 127, 128, 65_535, 65_536];

pub(super) fn cases() -> Vec<Case> {
    [
        whole_messages(),
        pings(),
        reserved_bits(),
        reserved_opcodes(),
        fragmented(),
        misplaced_fragments(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A command of this size, and the id of its reply.
fn command_of_size(size: usize) -> (Vec<u8>, Option<u64>) {
    if size == 0 {
        (Vec::new(), None)
    } else {
        (command(1, size), Some(1))
    }
}

fn whole_messages() -> Vec<Case> {
    let mut cases = Vec::new();
    for (index, size) in SIZES.into_iter().enumerate() {
        let (payload, id) = command_of_size(size);
        let text = Case::new(format!("1.1.{}", index + 1)).sends([last(TEXT, &payload)]);
        cases.push(text.expects_reply(id));
        let binary = Case::new(format!("1.2.{}", index + 1)).sends([last(BINARY, &payload)]);
        cases.push(binary.expects_close(1003));
    }
    let largest = command(1, 65_536);
    let chopped = |number: &str, opcode| {
        let frames = [last(opcode, &largest)];
        Case::new(number).sends(frames).in_writes_of(997)
    };
    cases.push(chopped("1.1.8", TEXT).expects_reply(1));
    cases.push(chopped("1.2.8", BINARY).expects_close(1003));
    cases
}

fn pings() -> Vec<Case> {
    let binary = [0x00, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0x00, 0xff];
    let ping = |number: &str, payload: &[u8]| {
        let case = Case::new(number).sends([last(PING, payload)]);
        case.expects_pong(payload)
    };
    let ten = |number: &str| {
        let payloads: Vec<_> = (0..10).map(|it| format!("payload-{it}")).collect();
        let pings = payloads.iter().map(|it| last(PING, it.as_bytes()));
        let case = Case::new(number).sends(pings);
        let received = payloads.iter();
        received.fold(case, |case, payload| case.expects_pong(payload.as_bytes()))
    };
    vec![
        ping("2.1", b""),
        ping("2.2", b"Hello"),
        ping("2.3", &binary),
        ping("2.4", &[0xfe; 125]),
        Case::new("2.5")
            .sends([last(PING, &[0xfe; 126])])
            .expects_close(1002),
        ping("2.6", &[0xfe; 125]).in_writes_of(1),
        Case::new("2.7").sends([last(PONG, b"")]),
        Case::new("2.8").sends([last(PONG, b"unasked")]),
        Case::new("2.9")
            .sends([last(PONG, b"unasked"), last(PING, b"asked")])
            .expects_pong(b"asked"),
        ten("2.10"),
        ten("2.11").in_writes_of(1),
    ]
}

fn reserved_bits() -> Vec<Case> {
    let first = || last(TEXT, &command(1, 40));
    let second = || frame_with_reserved_bits(2, TEXT, &command(2, 40));
    let between = |number: &str| {
        let frames = [first(), second(), last(PING, b"")];
        Case::new(number)
            .sends(frames)
            .expects_reply(1)
            .expects_close(1002)
    };
    let alone = |number: &str, frame| Case::new(number).sends([frame]).expects_close(1002);
    vec![
        alone("3.1", frame_with_reserved_bits(1, TEXT, &command(1, 40))),
        between("3.2"),
        Case::new("3.3")
            .sends([first()])
            .sends([
                frame_with_reserved_bits(3, TEXT, &command(2, 40)),
                last(PING, b""),
            ])
            .expects_reply(1)
            .expects_close(1002),
        between("3.4").in_writes_of(1),
        alone("3.5", frame_with_reserved_bits(5, BINARY, b"bytes")),
        alone("3.6", frame_with_reserved_bits(6, PING, b"asked")),
        alone("3.7", frame_with_reserved_bits(7, CLOSE, b"")),
    ]
}

fn reserved_opcodes() -> Vec<Case> {
    let mut cases = Vec::new();
    for (section, opcodes) in [(1, 3..=7), (2, 11..=15)] {
        for (index, opcode) in opcodes.enumerate() {
            let case = Case::new(format!("4.{section}.{}", index + 1));
            let payload: &[u8] = if index % 2 == 0 { b"" } else { b"reserved" };
            let bad = last(opcode, payload);
            let case = match index {
                0 | 1 => case.sends([bad]),
                2 | 3 => case
                    .sends([last(TEXT, &command(1, 40)), bad, last(PING, b"")])
                    .expects_reply(1),
                _ => case
                    .sends([last(TEXT, &command(1, 40)), bad, last(PING, b"")])
                    .in_writes_of(1)
                    .expects_reply(1),
            };
            cases.push(case.expects_close(1002));
        }
    }
    cases
}

/// A command in two halves.
fn command_halves() -> (Vec<u8>, Vec<u8>) {
    let whole = command(1, 60);
    let (first, second) = whole.split_at(17);
    (first.to_vec(), second.to_vec())
}

fn fragmented() -> Vec<Case> {
    let (first, second) = command_halves();
    let (first, second) = (more(TEXT, &first), last(CONTINUATION, &second));
    let two = |number: &str| {
        let frames = [first.clone(), second.clone()];
        Case::new(number).sends(frames).expects_reply(1)
    };
    let around = |number: &str| {
        let frames = [first.clone(), last(PING, b"between"), second.clone()];
        Case::new(number)
            .sends(frames)
            .expects_pong(b"between")
            .expects_reply(1)
    };
    let apart = Case::new("5.7")
        .sends([first.clone()])
        .sends([last(PING, b"between")])
        .sends([second.clone()]);
    vec![
        Case::new("5.1")
            .sends([more(PING, b"half"), last(CONTINUATION, b"half")])
            .expects_close(1002),
        Case::new("5.2")
            .sends([more(PONG, b"half"), last(CONTINUATION, b"half")])
            .expects_close(1002),
        Case::new("5.3")
            .sends([first.clone()])
            .sends([second.clone()])
            .expects_reply(1),
        two("5.4"),
        two("5.5").in_writes_of(1),
        around("5.6"),
        apart.expects_pong(b"between").expects_reply(1),
        around("5.8").in_writes_of(1),
        fragments_with_pings("5.19"),
        fragments_with_pings("5.20").in_writes_of(7),
    ]
}

/// Five fragments with pings between them.
fn fragments_with_pings(number: &str) -> Case {
    let whole = command(1, 100);
    let pieces: Vec<_> = whole.chunks(20).collect();
    let frames = [
        more(TEXT, pieces[0]),
        more(CONTINUATION, pieces[1]),
        last(PING, b"first"),
        more(CONTINUATION, pieces[2]),
        more(CONTINUATION, pieces[3]),
        last(PING, b"second"),
        last(CONTINUATION, pieces[4]),
    ];
    let case = Case::new(number).sends(frames);
    case.expects_pong(b"first")
        .expects_pong(b"second")
        .expects_reply(1)
}

fn misplaced_fragments() -> Vec<Case> {
    let whole = || last(TEXT, &command(1, 40));
    let stray = |number: &str, stray: Vec<u8>| {
        let frames = [stray, whole()];
        Case::new(number).sends(frames).expects_close(1002)
    };
    let (final_stray, open_stray) = (last(CONTINUATION, b"no"), more(CONTINUATION, b"no"));
    let (first, second) = command_halves();
    let broken = |number: &str, start: &Vec<u8>| {
        let one = [start.clone(), more(TEXT, b"{"), last(CONTINUATION, b"}")];
        let two = [start.clone(), more(TEXT, b"{"), last(CONTINUATION, b"}")];
        Case::new(number).sends(one).sends(two).expects_close(1002)
    };
    vec![
        stray("5.9", final_stray.clone()),
        Case::new("5.10")
            .sends([final_stray.clone()])
            .sends([whole()])
            .expects_close(1002),
        stray("5.11", final_stray.clone()).in_writes_of(1),
        stray("5.12", open_stray.clone()),
        Case::new("5.13")
            .sends([open_stray.clone()])
            .sends([whole()])
            .expects_close(1002),
        stray("5.14", open_stray.clone()).in_writes_of(1),
        Case::new("5.15")
            .sends([more(TEXT, &first), last(CONTINUATION, &second)])
            .sends([open_stray.clone(), whole()])
            .expects_reply(1)
            .expects_close(1002),
        broken("5.16", &open_stray),
        broken("5.17", &final_stray),
        Case::new("5.18")
            .sends([more(TEXT, &first), last(TEXT, &second)])
            .expects_close(1002),
    ]
}
