//! The split-block Bloom filter of Apache Parquet (`BloomFilter.md` and `parquet.thrift` of the Parquet format, 2.7.0 and
//! later): a Thrift header in the compact protocol, and the bitset.
//!
//! It is the layout [`SplitBlock`] bit for bit, over digests of XXH64 with seed 0 of a value's PLAIN bytes; a filter has 1
//! to 67,108,863 blocks of 32 bytes, not only powers of two. The number of keys is not recorded.
//!
//! ```
//! use bloomline::{Filter, SplitBlock, format::parquet::{self, Value}, hash::Xxh64};
//!
//! // A column chunk of 1,000 distinct integers, at 1 %.
//! let geometry = parquet::geometry(1_000, 0.01)?;
//! let mut filter = Filter::<SplitBlock>::builder(1_000).geometry(geometry).hasher(Xxh64::default()).build()?;
//! for value in 0..1_000i32 {
//!     filter.insert_digest(Value::I32(value).digest());
//! }
//! let bytes = parquet::to_vec(&filter)?; // header and bitset, as they lie at `bloom_filter_offset`
//!
//! let (filter, _) = parquet::open(&bytes)?;
//! assert!(Value::I32(7).may_be_in(&filter));
//! assert!(Value::I16(7).may_be_in(&filter)); // widened, as Parquet stores it
//! assert!(Value::F64(0.0).may_be_in(&filter)); // zeros and NaN have several encodings: always "maybe"
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::compact::UNKNOWN;
use crate::{
    AnyFilter, Digest, Filter, FilterView, Layout, LayoutKind, SplitBlock,
    error::{ParquetError, SizingError},
    hash::{Hashes, KeyHasher, Xxh64},
    mem::Store,
    sizing::Geometry,
};
use alloc::vec::Vec;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 32;

/// The most blocks: the length of the bitset is an `i32`.
pub const MAX_BLOCKS: u64 = i32::MAX as u64 / BLOCK_BYTES;

/// The most bytes that a header may have, fields of later versions included. Today's have 15 to 19; without a limit,
/// hostile bytes could make [`open`] read all of them.
pub const MAX_HEADER_BYTES: u64 = 1024;

/// The size of a filter for so many distinct values whose false positive rate is at most `fpr`, by the layout's own
/// formula.
///
/// # Errors
/// When there is no such size, or it has more blocks than [`MAX_BLOCKS`].
pub fn geometry(distinct: u64, fpr: f64) -> Result<Geometry, SizingError> {
    let geometry = SplitBlock::MODEL.size_for_fpr(distinct, fpr)?;
    let max_bits = MAX_BLOCKS * BLOCK_BYTES * 8;
    if geometry.bits > max_bits {
        // Sizes are rounded up to multiples of 8 blocks, which the largest is not.
        let largest = Geometry { bits: max_bits, k: 8 };
        if SplitBlock::MODEL.fpr(distinct, largest) <= fpr {
            return Ok(largest);
        }
        return Err(SizingError::TooManyBits { bits: geometry.bits.into(), max_bits });
    }
    Ok(geometry)
}

/// Type and number of the fields of the header, in the compact protocol: `(id delta << 4 | type)`.
mod thrift {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
    /// A union's first member, an empty struct, and the union's end.
    pub(super) const FIRST_OF_UNION: [u8; 3] = [1 << 4 | STRUCT, STOP, STOP];
}

/// Header and bitset of a filter.
///
/// # Errors
/// When its seed is not 0, or it is larger than Parquet's.
pub fn to_vec<S>(filter: &Filter<SplitBlock, S, Xxh64>) -> Result<Vec<u8>, ParquetError>
where
    S: Store<Unit = [u8; 32]>,
    Filter<SplitBlock, S, Xxh64>: super::Stored,
{
    let payload = super::Stored::payload(filter);
    let seed = filter.hasher().seed();
    if seed != 0 {
        return Err(ParquetError::Seed { seed });
    }
    let length = i32::try_from(payload.len())
        .map_err(|_| ParquetError::TooLarge { bytes: payload.len() as u64, max: MAX_BLOCKS * BLOCK_BYTES })?;
    let mut bytes = Vec::with_capacity(payload.len() + 24);
    bytes.push(1 << 4 | thrift::I32);
    let mut zigzag = (length as u32) << 1; // not negative
    while zigzag >= 0x80 {
        bytes.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
    for _algorithm_hash_compression in 0..3 {
        bytes.push(1 << 4 | thrift::STRUCT);
        bytes.extend_from_slice(&thrift::FIRST_OF_UNION);
    }
    bytes.push(thrift::STOP);
    bytes.extend_from_slice(payload);
    Ok(bytes)
}

/// The filter that begins here, over the bytes where they lie, and how many bytes it takes with its header. Constant time;
/// what lies behind is left alone. Parquet has no checksum of a filter: the page of a file or an engine has one, or none.
///
/// The filter's [`Design`](crate::Design) says 0 keys: Parquet does not record them.
///
/// # Errors
/// When the bytes are no such header or one of more than [`MAX_HEADER_BYTES`], name another algorithm, hash or
/// compression, state a length that Parquet can't have, or end before the bitset does.
pub fn open(bytes: &[u8]) -> Result<(FilterView<'_, SplitBlock, Xxh64>, usize), ParquetError> {
    let (bitset, geometry, taken) = parts(bytes)?;
    let filter = FilterView::from_bytes(bitset, geometry, UNKNOWN, Xxh64::default())
        .map_err(|_| ParquetError::Length { bytes: bitset.len() as i64 })?;
    Ok((filter, taken))
}

/// May the value with this digest be in the filter that begins here? Total and in constant time: "maybe" for whatever
/// [`open`] refuses. The digest to ask for is that of [`Value::query`], which there is not for every value;
/// [`Value::may_be_at`] asks for a value.
pub fn probe(bytes: &[u8], digest: Digest) -> bool {
    let hit = |(bitset, geometry, _)| AnyFilter::probe(LayoutKind::SplitBlock, bitset, geometry, digest);
    parts(bytes).ok().and_then(hit).unwrap_or(true)
}

/// The bitset of the filter that begins here, its geometry, and the bytes of header and bitset.
fn parts(bytes: &[u8]) -> Result<(&[u8], Geometry, usize), ParquetError> {
    let mut reader = Reader { bytes, at: 0 };
    let stated = reader.header()?;
    let length = u64::try_from(stated).ok().filter(|&n| n > 0 && n <= i32::MAX as u64 && n.is_multiple_of(BLOCK_BYTES));
    let length = length.ok_or(ParquetError::Length { bytes: stated })?;
    let (start, present) = (reader.at, bytes.len() as u64);
    let truncated = ParquetError::Truncated { bytes: present, needed: start as u64 + length };
    let bitset = bytes.get(start..).and_then(|rest| rest.get(..length as usize)).ok_or(truncated)?; // 31 bits
    Ok((bitset, Geometry { bits: length * 8, k: 8 }, start + bitset.len()))
}

/// A reader of Thrift's compact protocol that stays within its bytes.
struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// Structs within structs that a field to be skipped may have. Parquet's own readers set limits of the same kind.
const MAX_DEPTH: u32 = 16;

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, ParquetError> {
        let byte = self.bytes.get(self.at).copied();
        self.skip_bytes(1)?;
        byte.ok_or(ParquetError::Header { at: self.at as u64 })
    }

    fn skip_bytes(&mut self, n: u64) -> Result<(), ParquetError> {
        let (bytes, needed) = (self.bytes.len() as u64, (self.at as u64).saturating_add(n));
        if needed > MAX_HEADER_BYTES {
            return Err(ParquetError::LongHeader { needed, max: MAX_HEADER_BYTES });
        }
        if needed > bytes {
            return Err(ParquetError::Truncated { bytes, needed });
        }
        self.at = needed as usize; // within the bytes
        Ok(())
    }

    /// An unsigned number, seven bits to a byte.
    fn varint(&mut self) -> Result<u64, ParquetError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ParquetError::Header { at: self.at as u64 })
    }

    /// A signed number: zigzag.
    fn signed(&mut self) -> Result<i64, ParquetError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next field's number and type; `None` at the end of the struct.
    fn field(&mut self, last: i64) -> Result<Option<(i64, u8)>, ParquetError> {
        let byte = self.byte()?;
        if byte == thrift::STOP {
            return Ok(None);
        }
        let id = match byte >> 4 {
            0 => self.signed()?,
            delta => last.saturating_add(delta.into()),
        };
        Ok(Some((id, byte & 15)))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), ParquetError> {
        let too_deep = ParquetError::Header { at: self.at as u64 };
        let deeper = depth.checked_sub(1).ok_or(too_deep)?;
        match kind {
            thrift::TRUE | thrift::FALSE => Ok(()), // as a field; the elements of a list take a byte
            thrift::BYTE => self.skip_bytes(1),
            thrift::I16 | thrift::I32 | thrift::I64 => self.varint().map(|_| ()),
            thrift::DOUBLE => self.skip_bytes(8),
            thrift::UUID => self.skip_bytes(16),
            thrift::BINARY => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            thrift::LIST | thrift::SET => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                self.skip_elements(n, &[head & 15], deeper)
            }
            thrift::MAP => {
                let n = self.varint()?;
                if n == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                self.skip_elements(n, &[kinds >> 4, kinds & 15], deeper)
            }
            thrift::STRUCT => {
                let mut last = 0;
                while let Some((id, kind)) = self.field(last)? {
                    self.skip(kind, deeper)?;
                    last = id;
                }
                Ok(())
            }
            _ => Err(too_deep),
        }
    }

    /// Each element takes a byte at least, so that there are no more of them than bytes.
    fn skip_elements(&mut self, n: u64, kinds: &[u8], depth: u32) -> Result<(), ParquetError> {
        for _ in 0..n {
            for &kind in kinds {
                match kind {
                    thrift::TRUE | thrift::FALSE => self.skip_bytes(1)?,
                    kind => self.skip(kind, depth)?,
                }
            }
        }
        Ok(())
    }

    /// A union whose first member, an empty struct, is the one that is understood.
    fn first_of_union(&mut self, what: &'static str) -> Result<(), ParquetError> {
        let (mut last, mut first) = (0, false);
        while let Some((id, kind)) = self.field(last)? {
            if id != 1 {
                return Err(ParquetError::Unknown { what, id });
            }
            if kind != thrift::STRUCT {
                return Err(ParquetError::Header { at: self.at as u64 });
            }
            self.skip(kind, MAX_DEPTH)?;
            (last, first) = (id, true);
        }
        if first { Ok(()) } else { Err(ParquetError::Missing { what }) }
    }

    /// Reads the header and returns the bytes of the bitset that it tells of.
    fn header(&mut self) -> Result<i64, ParquetError> {
        const UNIONS: [&str; 3] = ["algorithm", "hash", "compression"];
        let (mut last, mut length, mut seen) = (0, None, [false; 3]);
        while let Some((id, kind)) = self.field(last)? {
            match (id, kind) {
                (1, thrift::I32) => length = Some(self.signed()?),
                (2..=4, thrift::STRUCT) => {
                    let union = id as usize - 2;
                    self.first_of_union(UNIONS[union])?;
                    seen[union] = true;
                }
                (1..=4, _) => return Err(ParquetError::Header { at: self.at as u64 }),
                _ => self.skip(kind, MAX_DEPTH)?,
            }
            last = id;
        }
        if let Some((what, _)) = UNIONS.iter().zip(seen).find(|(_, seen)| !seen) {
            return Err(ParquetError::Missing { what });
        }
        length.ok_or(ParquetError::Missing { what: "length" })
    }
}

/// A value of a Parquet column, hashed as the format wants: XXH64 with seed 0 of its PLAIN encoding.
///
/// Booleans have no filter in Parquet. An `INT96` is a [`Value::Fixed`] of its 12 bytes, a decimal a value of its stored
/// type. A decimal in a `BYTE_ARRAY` should be as short as it can be (`LogicalTypes.md`); where a writer may have padded
/// it, other bytes stand for the same number, and a filter can't say that it is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'v> {
    /// Stored as `INT32`.
    I8(i8),
    /// Stored as `INT32`.
    I16(i16),
    /// `INT32`.
    I32(i32),
    /// `INT64`.
    I64(i64),
    /// Stored as `INT32`.
    U8(u8),
    /// Stored as `INT32`.
    U16(u16),
    /// Stored as `INT32`, by its bits.
    U32(u32),
    /// Stored as `INT64`, by its bits.
    U64(u64),
    /// `FLOAT16`, by its bits: a `FIXED_LEN_BYTE_ARRAY` of 2 bytes.
    F16(u16),
    /// `FLOAT`.
    F32(f32),
    /// `DOUBLE`.
    F64(f64),
    /// `BYTE_ARRAY`: the bytes, without the length before them.
    Bytes(&'v [u8]),
    /// `FIXED_LEN_BYTE_ARRAY`.
    Fixed(&'v [u8]),
}

impl Value<'_> {
    /// The digest to insert; not always one to ask for, which [`Value::query`] gives.
    pub fn digest(self) -> Digest {
        let hasher = Xxh64::default();
        match self {
            Self::I8(x) => hasher.digest(&i32::from(x)),
            Self::I16(x) => hasher.digest(&i32::from(x)),
            Self::I32(x) => hasher.digest(&x),
            Self::I64(x) => hasher.digest(&x),
            Self::U8(x) => hasher.digest(&i32::from(x)),
            Self::U16(x) => hasher.digest(&i32::from(x)),
            Self::U32(x) => hasher.digest(&x),
            Self::U64(x) => hasher.digest(&x),
            Self::F16(x) => hasher.digest(&x),
            Self::F32(x) => hasher.digest(&x.to_bits()),
            Self::F64(x) => hasher.digest(&x.to_bits()),
            Self::Bytes(x) | Self::Fixed(x) => hasher.digest(x),
        }
    }

    /// The digest to ask a filter for; `None` when the value equals others of another encoding, so that a filter can't
    /// say that it is absent: zeros (0.0 = −0.0) and NaN.
    pub fn query(self) -> Option<Digest> {
        let ambiguous = match self {
            Self::F16(x) => x & 0x7fff == 0 || x & 0x7fff > 0x7c00, // beyond infinity: NaN
            Self::F32(x) => x == 0.0 || x.is_nan(),
            Self::F64(x) => x == 0.0 || x.is_nan(),
            _ => false,
        };
        (!ambiguous).then(|| self.digest())
    }

    /// May a filter of Parquet hold a value that equals this one?
    pub fn may_be_in<S: Store<Unit = [u8; 32]>>(self, filter: &Filter<SplitBlock, S, Xxh64>) -> bool {
        self.query().is_none_or(|digest| filter.contains_digest(digest))
    }

    /// May the filter that begins here, in bytes of Parquet, hold a value that equals this one? As [`probe`].
    pub fn may_be_at(self, bytes: &[u8]) -> bool {
        self.query().is_none_or(|digest| probe(bytes, digest))
    }
}
