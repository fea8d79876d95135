//! The results of a study as one file: Parquet or CSV, sorted by sample.
//!
//! Columns: `sample`, the parameters, the measures (empty where a sample failed), and `failure`, the reason. The file depends only on
//! the samples, so that it has the same bytes whatever the number of threads.

use crate::distribution::Spread;
use crate::journal::Origin;
use crate::runner::Sample;
use crate::study::Study;
use catena::error::{Error, ErrorKind, Place, Result};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// Rows in a group of a Parquet file.
const GROUP: usize = 65536;

/// The formats of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// Apache Parquet, `.parquet`.
    Parquet,
    /// Text with commas, `.csv`.
    Csv,
}

impl ResultFormat {
    /// The format given by the extension of a file name.
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("parquet") => Ok(ResultFormat::Parquet),
            Some("csv") => Ok(ResultFormat::Csv),
            _ => Err(about(
                path,
                "the format of the results cannot be determined from the file's name".into(),
            )
            .hint("results are named .parquet or .csv")),
        }
    }
}

fn about(path: &Path, message: String) -> Error {
    Error::new(ErrorKind::File, message).at(Place {
        file: Some(path.display().to_string().into()),
        line: None,
    })
}

/// Writes all samples, sorted by their indices. The file appears when it is complete.
pub fn write_results(
    path: &Path,
    study: &Study,
    origin: &Origin,
    samples: &[Sample],
) -> Result<()> {
    let format = ResultFormat::from_path(path)?;
    let mut sorted: Vec<&Sample> = samples.iter().collect();
    sorted.sort_by_key(|sample| sample.index);
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    let written = File::create(&fresh)
        .map_err(|error| error.to_string())
        .and_then(|mut file| {
            match format {
                ResultFormat::Parquet => {
                    parquet(&mut file, study, origin, &sorted).map_err(|error| error.to_string())
                }
                ResultFormat::Csv => {
                    csv(&mut file, study, &sorted).map_err(|error| error.to_string())
                }
            }?;
            file.sync_all().map_err(|error| error.to_string())
        })
        .and_then(|()| fs::rename(&fresh, path).map_err(|error| error.to_string()));
    written.map_err(|reason| {
        let _ = fs::remove_file(&fresh);
        about(path, format!("the results cannot be written: {reason}"))
            .hint("remove the cause, then give the command again with --resume: nothing is computed twice")
    })
}

fn names(study: &Study) -> [Vec<&str>; 2] {
    let parameters = study
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str());
    let measures = study.measures.iter().map(|measure| measure.name.as_str());
    [parameters.collect(), measures.collect()]
}

fn csv(file: &mut File, study: &Study, samples: &[&Sample]) -> std::result::Result<(), csv::Error> {
    let [parameters, measures] = names(study);
    let mut writer = csv::Writer::from_writer(file);
    let columns = [&["sample"][..], &parameters, &measures, &["failure"]];
    writer.write_record(columns.concat())?;
    for sample in samples {
        let mut record = vec![sample.index.to_string()];
        let values = study.parameters.iter().zip(&sample.values);
        record.extend(values.map(|(parameter, x)| match &parameter.spread {
            Spread::Words(_) => parameter.spread.written(*x),
            _ => format!("{x:?}"),
        }));
        match &sample.measures {
            Ok(found) => record.extend(found.iter().map(|x| format!("{x:?}"))),
            Err(_) => record.extend(measures.iter().map(|_| String::new())),
        }
        record.push(sample.measures.as_ref().err().cloned().unwrap_or_default());
        writer.write_record(record)?;
    }
    writer.flush()?;
    Ok(())
}

fn parquet(
    file: &mut File,
    study: &Study,
    origin: &Origin,
    samples: &[&Sample],
) -> ParquetResult<()> {
    let [_, measures] = names(study);
    let field = |name: &str, kind, repetition, logical| {
        let field = Type::primitive_type_builder(name, kind)
            .with_repetition(repetition)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let mut fields = vec![field(
        "sample",
        PhysicalType::INT64,
        Repetition::REQUIRED,
        None,
    )?];
    for parameter in &study.parameters {
        let (kind, logical) = match parameter.spread {
            Spread::Words(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            _ => (PhysicalType::DOUBLE, None),
        };
        fields.push(field(&parameter.name, kind, Repetition::REQUIRED, logical)?);
    }
    for name in &measures {
        fields.push(field(
            name,
            PhysicalType::DOUBLE,
            Repetition::OPTIONAL,
            None,
        )?);
    }
    let text = Some(LogicalType::String);
    fields.push(field(
        "failure",
        PhysicalType::BYTE_ARRAY,
        Repetition::OPTIONAL,
        text,
    )?);
    let schema = Type::group_type_builder("study")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    for rows in samples.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            let indices: Vec<i64> = rows.iter().map(|row| row.index as i64).collect();
            column
                .typed::<Int64Type>()
                .write_batch(&indices, None, None)?;
            column.close()?;
        }
        for (k, parameter) in study.parameters.iter().enumerate() {
            if let Some(mut column) = group.next_column()? {
                let values = rows.iter().map(|row| row.values[k]);
                match &parameter.spread {
                    words @ Spread::Words(_) => {
                        let texts = values.map(|value| words.written(value).as_str().into());
                        let texts: Vec<ByteArray> = texts.collect();
                        let column = column.typed::<ByteArrayType>();
                        column.write_batch(&texts, None, None)?;
                    }
                    _ => {
                        let values: Vec<f64> = values.collect();
                        let column = column.typed::<DoubleType>();
                        column.write_batch(&values, None, None)?;
                    }
                }
                column.close()?;
            }
        }
        for k in 0..measures.len() {
            if let Some(mut column) = group.next_column()? {
                let found = rows.iter().map(|row| row.measures.as_ref().ok());
                let values: Vec<f64> = found
                    .clone()
                    .flatten()
                    .map(|measures| measures[k])
                    .collect();
                let there: Vec<i16> = found
                    .map(|measures| i16::from(measures.is_some()))
                    .collect();
                column
                    .typed::<DoubleType>()
                    .write_batch(&values, Some(&there), None)?;
                column.close()?;
            }
        }
        if let Some(mut column) = group.next_column()? {
            let reasons = rows.iter().map(|row| row.measures.as_ref().err());
            let texts: Vec<ByteArray> = reasons
                .clone()
                .flatten()
                .map(|text| text.as_str().into())
                .collect();
            let there: Vec<i16> = reasons.map(|reason| i16::from(reason.is_some())).collect();
            column
                .typed::<ByteArrayType>()
                .write_batch(&texts, Some(&there), None)?;
            column.close()?;
        }
        group.close()?;
    }
    for (name, text) in &origin.entries {
        let key = format!("catena.{}", name.replace(' ', "_"));
        writer.append_key_value_metadata(KeyValue::new(key, text.clone()));
    }
    let units: Map<String, Value> = study
        .parameters
        .iter()
        .map(|parameter| (&parameter.name, &parameter.unit))
        .chain(
            study
                .measures
                .iter()
                .map(|measure| (&measure.name, &measure.unit)),
        )
        .map(|(name, unit)| (name.clone(), unit.as_str().into()))
        .collect();
    let units = Value::from(units).to_string();
    writer.append_key_value_metadata(KeyValue::new("catena.units".to_string(), units));
    writer.close()?;
    Ok(())
}
