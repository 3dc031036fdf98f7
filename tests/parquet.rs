//! The Bloom filters of Parquet files that other programs wrote, and ours as other programs read them.

use ::parquet::{
    basic::Type,
    bloom_filter::Sbbf,
    column::reader::ColumnReader,
    data_type::{ByteArray, ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type},
    file::{
        properties::{ReaderProperties, WriterProperties},
        reader::{FileReader, SerializedFileReader},
        serialized_reader::ReadOptionsBuilder,
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use bloomline::{
    Design, Digest, Filter, FilterView, SplitBlock,
    error::{ParquetError, SizingError},
    format::parquet::{self, Value},
    hash::Xxh64,
    mem::Owned,
    sizing::Geometry,
};
use bytes::Bytes;
use std::sync::Arc;

type Ours = Filter<SplitBlock, Owned<[u8; 32]>, Xxh64>;

fn unhex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).expect("a digit") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// A filter of so many blocks.
fn built(blocks: u64, digests: impl IntoIterator<Item = Digest>) -> Ours {
    let geometry = Geometry { bits: blocks * 256, k: 8 };
    let mut filter =
        Filter::<SplitBlock>::builder(1).geometry(geometry).hasher(Xxh64::default()).build().expect("small");
    for digest in digests {
        filter.insert_digest(digest);
    }
    filter
}

const HEADER: &str = "15401c1c00001c1c00001c1c000000";

#[test]
fn known_bytes() {
    let numbers = "1080180804080402020580020000260860014004014002884040002020094000";
    let strings = "0040246001080b000b00000204100090004126000000644100608028000040c1";
    let of_numbers = built(1, (1..=5i64).map(|x| Value::I64(x).digest()));
    let of_strings = built(1, ["a", "bb", "ccc", "", "é"].map(|text| Value::Bytes(text.as_bytes()).digest()));
    for (filter, bitset) in [(of_numbers, numbers), (of_strings, strings)] {
        let expected = unhex(&format!("{HEADER}{bitset}"));
        assert_eq!(parquet::to_vec(&filter).expect("a filter of Parquet"), expected);
        let (read, taken) = parquet::open(&expected).expect("a filter");
        assert_eq!(taken, expected.len());
        assert_eq!(read.as_bytes(), filter.as_bytes());
        assert_eq!(read.design(), Design { keys: 0, fpr: 1.0 });
        let more = [&expected[..], b"what lies behind"].concat();
        assert_eq!(parquet::open(&more).expect("a filter").1, expected.len());
    }
}

/// The values of a column, and whether its chunk's filter is bit for bit ours.
fn compare_file(file: &[u8]) -> usize {
    let options = ReadOptionsBuilder::new()
        .with_reader_properties(ReaderProperties::builder().set_read_bloom_filter(true).build())
        .build();
    let reader = SerializedFileReader::new_with_options(Bytes::copy_from_slice(file), options).expect("a Parquet file");
    let mut compared = 0;
    for group in 0..reader.num_row_groups() {
        let row_group = reader.get_row_group(group).expect("a row group");
        for column in 0..row_group.num_columns() {
            let meta = row_group.metadata().column(column);
            let Some(offset) = meta.bloom_filter_offset() else { continue };
            let digests =
                digests(row_group.get_column_reader(column).expect("a column"), row_group.metadata().num_rows());
            let (theirs, taken) = parquet::open(&file[offset as usize..]).expect("a filter");
            if let Some(length) = meta.bloom_filter_length() {
                assert_eq!(taken, length as usize);
            }
            assert!(digests.iter().all(|&digest| theirs.contains_digest(digest)), "a value of the column is denied");
            let ours = built(theirs.size_in_bytes() / 32, digests.iter().copied());
            assert!(ours.as_bytes() == theirs.as_bytes(), "column {column} of group {group}: other bits");
            assert_eq!(
                parquet::to_vec(&ours).expect("Parquet's").len(),
                taken,
                "the same header, as short as it can be"
            );
            compared += 1;
        }
    }
    compared
}

fn digests(column: ColumnReader, rows: i64) -> Vec<Digest> {
    macro_rules! read {
        ($reader:ident, $value:ident => $variant:expr) => {{
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            let mut reader = $reader;
            while reader.read_records(rows as usize, Some(&mut levels), None, &mut values).expect("values").0 > 0 {}
            values.iter().map(|$value| $variant.digest()).collect()
        }};
    }
    match column {
        ColumnReader::Int32ColumnReader(r) => read!(r, x => Value::I32(*x)),
        ColumnReader::Int64ColumnReader(r) => read!(r, x => Value::I64(*x)),
        ColumnReader::FloatColumnReader(r) => read!(r, x => Value::F32(*x)),
        ColumnReader::DoubleColumnReader(r) => read!(r, x => Value::F64(*x)),
        ColumnReader::ByteArrayColumnReader(r) => read!(r, x => Value::Bytes(x.data())),
        ColumnReader::FixedLenByteArrayColumnReader(r) => read!(r, x => Value::Fixed(x.data())),
        _ => panic!("no column of this type here"),
    }
}

#[test]
fn files_of_arrow_cpp() {
    assert_eq!(compare_file(include_bytes!("data/pa.parquet")), 6);
    assert_eq!(compare_file(include_bytes!("data/tiny.parquet")), 2);
}

/// A file of 3,000 rows with a Bloom filter on every column.
fn written() -> Vec<u8> {
    let schema = parse_message_type(
        "message rows { required int32 small (INTEGER(16,true)); required int64 number; required float f;
         required double d; required binary text (UTF8); required fixed_len_byte_array(6) fixed; }",
    );
    let properties = WriterProperties::builder().set_bloom_filter_enabled(true).set_bloom_filter_max_ndv(3_000).build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema.expect("a schema")), Arc::new(properties))
        .expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    macro_rules! column {
        ($Type:ty, $value:expr) => {{
            let values: Vec<_> = (0..3_000).map($value).collect();
            let mut column = group.next_column().expect("no error").expect("a column");
            column.typed::<$Type>().write_batch(&values, None, None).expect("values");
            column.close().expect("a column");
        }};
    }
    column!(Int32Type, |i: i32| i - 1_500);
    column!(Int64Type, |i: i64| i * 1_000_000_007);
    column!(FloatType, |i: i32| i as f32 / 7.0 - 100.0);
    column!(DoubleType, |i: i32| f64::from(i) / 3.0);
    column!(ByteArrayType, |i: i32| ByteArray::from(format!("value {i}").into_bytes()));
    column!(FixedLenByteArrayType, |i: i32| ByteArray::from(format!("{i:06}").into_bytes()).into());
    group.close().expect("a row group");
    writer.close().expect("a file");
    file
}

#[test]
fn files_of_the_parquet_crate() {
    assert_eq!(compare_file(&written()), 6);
}

/// Their reader finds in our bytes what we put there, and little else.
#[test]
fn our_filters_in_a_file_of_theirs() {
    let mut file = written();
    let reader = SerializedFileReader::new(Bytes::from(file.clone())).expect("a Parquet file");
    let column = reader.metadata().row_group(0).column(1);
    assert_eq!(column.column_type(), Type::INT64);
    let start = column.bloom_filter_offset().expect("a filter") as usize;
    let (theirs, taken) = parquet::open(&file[start..]).expect("a filter");
    // Our filter of other numbers takes the place of theirs.
    let ours = built(theirs.size_in_bytes() / 32, (0..3_000).map(|x| Value::I64(-x - 5).digest()));
    file[start..start + taken].copy_from_slice(&parquet::to_vec(&ours).expect("Parquet's"));
    let options = ReadOptionsBuilder::new()
        .with_reader_properties(ReaderProperties::builder().set_read_bloom_filter(true).build())
        .build();
    let reader = SerializedFileReader::new_with_options(Bytes::from(file), options).expect("a Parquet file");
    let group = reader.get_row_group(0).expect("a row group");
    let read: &Sbbf = group.get_column_bloom_filter(1).expect("a filter");
    assert!((0..3_000i64).all(|x| read.check(&(-x - 5))), "their reader denies what we inserted");
    let wrong = (0..20_000i64).filter(|x| read.check(&(x + 1))).count();
    let expected = ours.current_fpr() * 20_000.0;
    assert!((wrong as f64 - expected).abs() < 6.0 * expected.sqrt() + 6.0, "{wrong} where {expected} were expected");
}

/// Numbers of blocks that are no power of two, which their writer never makes: their reader gives our answers.
#[test]
fn any_number_of_blocks() {
    for blocks in [1, 2, 3, 7, 100, 257] {
        let ours = built(blocks, (0..20 * blocks as i64).map(|x| Value::I64(x).digest()));
        let theirs = Sbbf::from_bytes(&parquet::to_vec(&ours).expect("Parquet's")).expect("a filter");
        for x in 0..20_000i64 {
            assert_eq!(theirs.check(&x), Value::I64(x).may_be_in(&ours), "{x} in {blocks} blocks");
        }
    }
}

/// What Parquet does not record stays unrecorded when a filter is folded.
#[test]
fn folded() {
    let digests = || (0..40).map(|x| Value::I64(x).digest());
    let bytes = parquet::to_vec(&built(12, digests())).expect("Parquet's");
    let (filter, _) = parquet::open(&bytes).expect("a filter");
    let folded = filter.fold(4).expect("4 divides 12");
    assert_eq!(folded.as_bytes(), built(3, digests()).as_bytes());
    assert_eq!(folded.design(), filter.design());
}

#[test]
fn typed_values() {
    for x in [-128i8, -1, 0, 1, 127] {
        assert_eq!(Value::I8(x).digest(), Value::I32(x.into()).digest());
        assert_eq!(Value::I16(x.into()).digest(), Value::I32(x.into()).digest());
    }
    assert_eq!(Value::U8(200).digest(), Value::I32(200).digest());
    assert_eq!(Value::U16(50_000).digest(), Value::I32(50_000).digest());
    assert_eq!(Value::U32(u32::MAX).digest(), Value::I32(-1).digest());
    assert_eq!(Value::U64(u64::MAX).digest(), Value::I64(-1).digest());
    assert_eq!(Value::Bytes(b"same").digest(), Value::Fixed(b"same").digest());
    assert_eq!(Value::F16(0x3c00).digest(), Value::Fixed(&[0x00, 0x3c]).digest());
    // An empty filter denies every value but those that equal others of another encoding.
    let empty = built(4, []);
    let empty_bytes = parquet::to_vec(&empty).expect("Parquet's");
    for maybe in [Value::F32(0.0), Value::F32(-0.0), Value::F32(f32::NAN), Value::F64(-0.0), Value::F64(f64::NAN)] {
        assert!(maybe.may_be_in(&empty), "{maybe:?}");
        assert_eq!(maybe.query(), None);
        assert!(maybe.may_be_at(&empty_bytes), "{maybe:?}");
    }
    for maybe in [0, 0x8000, 0x7c01, 0x7e00, 0xffff].map(Value::F16) {
        assert!(maybe.may_be_in(&empty), "{maybe:?}");
    }
    for absent in [1, 0x8001, 0x3c00, 0x7c00, 0xfc00].map(Value::F16) {
        assert!(!absent.may_be_in(&empty), "{absent:?}");
    }
    for absent in [Value::F32(1.0), Value::F64(f64::MIN_POSITIVE), Value::I32(0), Value::Bytes(b"")] {
        assert!(!absent.may_be_in(&empty), "{absent:?}");
        assert!(!absent.may_be_at(&empty_bytes), "{absent:?}");
        assert!(absent.may_be_at(&empty_bytes[1..]), "maybe, when the bytes are damaged");
    }
}

#[test]
fn sizes() {
    let geometry = parquet::geometry(1_000_000, 0.01).expect("a size");
    assert!(geometry.bits < 11_000_000 && geometry.bits.is_multiple_of(256));
    let error = parquet::geometry(10_000_000_000, 0.01).expect_err("beyond 2 GiB");
    assert!(matches!(error, SizingError::TooManyBits { max_bits, .. } if max_bits == 67_108_863 * 256));
    assert!(matches!(parquet::geometry(0, 0.01), Err(SizingError::ZeroKeys)));
    let seeded = Filter::<SplitBlock>::builder(10).hasher(Xxh64::with_seed(3)).build().expect("small");
    assert_eq!(parquet::to_vec(&seeded), Err(ParquetError::Seed { seed: 3 }));
    // A block more than Parquet's length can tell of; the zeros are never touched.
    #[cfg(target_pointer_width = "64")]
    {
        let zeros = vec![0; 1 << 31];
        let geometry = Geometry { bits: 1 << 34, k: 8 };
        let large = FilterView::<SplitBlock, Xxh64>::from_bytes(&zeros, geometry, seeded.design(), Xxh64::default());
        let error = parquet::to_vec(&large.expect("a view")).expect_err("2^31 bytes");
        assert_eq!(error, ParquetError::TooLarge { bytes: 1 << 31, max: 67_108_863 * 32 });
    }
    // The length of every size is read back, whatever number of bytes it takes.
    for blocks in [1, 2, 3, 7, 255, 256, 257, 65_537] {
        let filter = built(blocks, [Digest(blocks)]);
        let bytes = parquet::to_vec(&filter).expect("Parquet's");
        let (read, taken) = parquet::open(&bytes).expect("a filter");
        assert_eq!((read.size_in_bytes(), taken), (32 * blocks, bytes.len()));
    }
}

#[test]
fn damaged_headers() {
    let whole = parquet::to_vec(&built(3, (0..20).map(|x| Value::I32(x).digest()))).expect("Parquet's");
    let header = whole.len() - 96;
    for length in 0..whole.len() {
        let error = parquet::open(&whole[..length]).expect_err("it was cut");
        assert!(matches!(error, ParquetError::Truncated { .. }), "cut to {length}: {error}");
        assert!(parquet::probe(&whole[..length], Digest(1)), "maybe, when it is cut");
    }
    for bit in 0..8 * header {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        parquet::probe(&bytes, Digest(1)); // an error or another size, and no panic
        if let Ok((filter, taken)) = parquet::open(&bytes) {
            assert!(taken <= bytes.len() && filter.size_in_bytes() <= 96);
        }
    }
    let with = |header: &str| unhex(&format!("{header}{}", "00".repeat(64)));
    let error = |header: &str| parquet::open(&with(header)).expect_err("no filter");
    assert_eq!(error("15001c1c00001c1c00001c1c000000"), ParquetError::Length { bytes: 0 });
    assert_eq!(error("153f1c1c00001c1c00001c1c000000"), ParquetError::Length { bytes: -32 });
    assert_eq!(error("15421c1c00001c1c00001c1c000000"), ParquetError::Length { bytes: 33 });
    // 2^32 + 32: cut to 32 bits it would be a filter of one block.
    assert_eq!(error("15c0808080201c1c00001c1c00001c1c000000"), ParquetError::Length { bytes: (1 << 32) + 32 });
    assert_eq!(error("15401c1500001c1c00001c1c000000"), ParquetError::Header { at: 4 }); // a number for a struct
    assert_eq!(error("15401c2c00001c1c00001c1c000000"), ParquetError::Unknown { what: "algorithm", id: 2 });
    assert_eq!(error("15401c1c00001c2c00001c1c000000"), ParquetError::Unknown { what: "hash", id: 2 });
    assert_eq!(error("15401c1c00001c1c00001c2c000000"), ParquetError::Unknown { what: "compression", id: 2 });
    assert_eq!(error("15401c1c00001c1c000000"), ParquetError::Missing { what: "compression" });
    assert_eq!(error("1c1c00001c1c00001c1c000000"), ParquetError::Header { at: 1 });
    // A field of a later version is skipped, whatever its type: a string, a list, a map, structs within it.
    for later in [
        "18036162 63",
        "19350204 06",
        "1b0188036162630102",
        "1c1c1c00000000",
        "1512",
        "17ffffffffffffffff",
        "11",
        "1dffffffffffffffffffffffffffffffff",
    ] {
        let header = format!("15401c1c00001c1c00001c1c0000{}00", later.replace(' ', ""));
        let read = parquet::open(&with(&header)).map(|(filter, _)| filter.size_in_bytes());
        assert_eq!(read, Ok(32), "{later}");
    }
    // A header ends within 1,024 bytes, however long its fields say they are; up to there it is read.
    let padded = |n: usize| {
        let mut bytes = unhex("15401c1c00001c1c00001c1c0000");
        bytes.extend([0x19, 0xf3, n as u8 | 0x80, (n >> 7) as u8]); // a list of n bytes
        bytes.resize(bytes.len() + n, 7);
        [bytes, vec![0; 33]].concat()
    };
    assert_eq!(parquet::open(&padded(1005)).map(|(_, taken)| taken), Ok(1024 + 32));
    assert_eq!(parquet::open(&padded(1006)).map(|_| ()), Err(ParquetError::LongHeader { needed: 1025, max: 1024 }));
    assert!(parquet::probe(&padded(1006), Digest(1)));
    // Structs within structs without end, lists and strings longer than the bytes.
    let deep = with(&format!("15401c1c00001c1c00001c1c0000{}", "1c".repeat(4_000)));
    assert!(matches!(parquet::open(&deep), Err(ParquetError::Header { .. })));
    assert!(parquet::open(&with("15401c1c00001c1c00001c1c000018ffffffff0f")).is_err());
    assert!(parquet::open(&with("15401c1c00001c1c00001c1c000019f3ffffffffffffffff7f")).is_err());
    assert!(parquet::open(&with("15ffffffffffffffffffff01")).is_err());
}

/// Views of a filter at every alignment of a file.
#[test]
fn anywhere_in_a_file() {
    let filter = built(5, (0..40).map(|x| Value::I64(x).digest()));
    let bytes = parquet::to_vec(&filter).expect("Parquet's");
    for shift in 0..64 {
        let file = [vec![0; shift], bytes.clone(), vec![0xff; 9]].concat();
        let (view, taken): (FilterView<'_, SplitBlock, Xxh64>, _) = parquet::open(&file[shift..]).expect("a filter");
        assert_eq!(taken, bytes.len());
        assert!((0..40).all(|x| Value::I64(x).may_be_in(&view)));
    }
}
