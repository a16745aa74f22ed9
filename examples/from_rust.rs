//! from_rust.rs: the library from Rust, by hand-written declarations of the few calls that are used: sorts a slice in place, in a context
//! that closes itself. Build: rustc from_rust.rs -l upsweep
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

const U64: c_int = 7; // UPSWEEP_U64

extern "C" {
    fn upsweep_open(ctx: *mut *mut c_void, backend: *const c_char) -> c_int;
    fn upsweep_close(ctx: *mut c_void);
    fn upsweep_error(ctx: *const c_void) -> *const c_char;
    fn upsweep_sort(
        ctx: *mut c_void,
        out: *mut u64,
        keys: *const u64,
        n: u64,
        key_type: c_int,
        order: *const c_void,
    ) -> c_int;
}

struct Upsweep(*mut c_void);

impl Upsweep {
    fn open(backend: &str) -> Result<Upsweep, String> {
        let name = CString::new(backend).map_err(|e| e.to_string())?;
        let mut ctx = null_mut();
        match unsafe { upsweep_open(&mut ctx, name.as_ptr()) } {
            0 => Ok(Upsweep(ctx)),
            _ => Err(sentence(null())),
        }
    }

    fn sort(&mut self, keys: &mut [u64]) -> Result<(), String> {
        let p = keys.as_mut_ptr();
        match unsafe { upsweep_sort(self.0, p, p, keys.len() as u64, U64, null()) } {
            0 => Ok(()),
            _ => Err(sentence(self.0)),
        }
    }
}

impl Drop for Upsweep {
    fn drop(&mut self) {
        unsafe { upsweep_close(self.0) }
    }
}

fn sentence(ctx: *const c_void) -> String {
    unsafe { CStr::from_ptr(upsweep_error(ctx)) }
        .to_string_lossy()
        .into_owned()
}

fn main() -> Result<(), String> {
    let mut keys: Vec<u64> = (1..=1000)
        .map(|i: u64| i.wrapping_mul(0x9E3779B97F4A7C15))
        .collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    Upsweep::open("cpu")?.sort(&mut keys)?;
    assert_eq!(keys, expected);
    println!("smallest {:#x}, largest {:#x}", keys[0], keys[999]);
    println!("{}", Upsweep::open("abacus").err().unwrap_or_default());
    Ok(())
}
