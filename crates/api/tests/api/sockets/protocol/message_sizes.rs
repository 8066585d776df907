//! Sections 9 and 10: message sizes and bursts.

use socket::{MAX_FRAME_BYTES, MAX_MESSAGE_BYTES};

use super::{
    case::Case,
    command,
    wire::{BINARY, TEXT, fragments, header, last},
};

pub(super) fn cases() -> Vec<Case> {
    let frame = usize::try_from(MAX_FRAME_BYTES).expect("a size");
    let message = usize::try_from(MAX_MESSAGE_BYTES).expect("a size");
    let declares = |number: &str, opcode: u8, length: u64| {
        let declared = [header(0x80 | opcode, length)];
        Case::new(number).sends(declared).expects_close(1009)
    };
    let mut cases = vec![
        Case::new("9.1.1")
            .sends([last(TEXT, &command(1, frame))])
            .expects_reply(1),
        Case::new("9.1.2")
            .sends([last(TEXT, &command(1, frame + 1))])
            .expects_close(1009),
        declares("9.1.3", TEXT, 1 << 20),
        declares("9.1.4", TEXT, 4 << 20),
        declares("9.1.5", TEXT, 8 << 20),
        declares("9.1.6", TEXT, 1 << 30),
        Case::new("9.2.1")
            .sends([last(BINARY, &command(1, frame))])
            .expects_close(1003),
        declares("9.2.2", BINARY, 256 << 10),
        declares("9.2.3", BINARY, u64::MAX),
    ];
    for (index, size) in [64, 256, 1024, 4096, 16 * 1024, 64 * 1024]
        .into_iter()
        .enumerate()
    {
        let number = index + 1;
        let largest = fragments(&command(1, message), size);
        let case = Case::new(format!("9.3.{number}")).sends(largest);
        cases.push(case.expects_reply(1));
        let larger = fragments(&command(1, message + 1), size);
        let case = Case::new(format!("9.3.{number} and a byte")).sends(larger);
        cases.push(case.expects_close(1009));
    }
    for (index, size) in [64, 128, 256, 512, 1024, 2048].into_iter().enumerate() {
        let case = Case::new(format!("9.5.{}", index + 1));
        let case = case
            .sends([last(TEXT, &command(1, frame))])
            .in_writes_of(size);
        cases.push(case.expects_reply(1));
    }
    for (index, size) in [40, 64, 256, 1024, 4096].into_iter().enumerate() {
        cases.push(command_burst(&format!("9.7.{}", index + 1), size));
    }
    let automatic = fragments(&command(1, 65_536), 1300);
    cases.push(Case::new("10.1.1").sends(automatic).expects_reply(1));
    cases
}

/// A burst of commands of this size.
fn command_burst(number: &str, size: usize) -> Case {
    let frames = (1..=40).map(|id| last(TEXT, &command(id, size)));
    let case = Case::new(number).sends(frames);
    (1..=40_u64).fold(case, Case::expects_reply)
}
