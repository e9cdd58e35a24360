//! The generated input: text that can be compressed about as well as prose and logs can.

/// Words of two to nine letters, in a vocabulary of this many.
const VOCABULARY: u64 = 3000;

/// So many bytes, always the same.
pub(crate) fn generated(size: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut text = Vec::with_capacity(size + 64);
    let mut line = 0_u64;
    while text.len() < size {
        line += 1;
        text.extend_from_slice(format!("{line:08} ").as_bytes());
        for _ in 0..6 + next(&mut state) % 10 {
            // The lower of two draws: some words are much more frequent than others.
            let word = (next(&mut state) % VOCABULARY).min(next(&mut state) % VOCABULARY);
            push_word(&mut text, word);
        }
        text.push(b'\n');
    }
    text.truncate(size);
    text
}

fn push_word(text: &mut Vec<u8>, word: u64) {
    let mut letters = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63;
    for _ in 0..2 + word % 8 {
        text.push(b'a' + (letters >> 40) as u8 % 26);
        letters = letters.rotate_left(7);
    }
    text.push(b' ');
}

/// A step of xorshift.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_its_size_and_is_text() {
        let text = generated(10_000);
        assert_eq!(text.len(), 10_000);
        assert!(text.iter().all(|byte| byte.is_ascii_graphic() || b" \n".contains(byte)));
        assert_eq!(text, generated(10_000));
        assert_eq!(text, generated(20_000)[..10_000]);
    }
}
