//! A table of the engine as an object that speaks the Arrow PyCapsule protocol: pyarrow, polars
//! and pandas take it without copying. Our own export over Arrow's C interface, a few lines, so
//! that no version of another bridge has to match ours.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, LargeBinaryArray, RecordBatch,
    RecordBatchIterator, RecordBatchReader, StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use flashcrowd_workload::Column;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::faults::EngineFault;

/// Rows under named columns; hand it to `pyarrow.table` or `polars.DataFrame`.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct Table(RecordBatch);

impl Table {
    pub(crate) fn new(table: flashcrowd_workload::Table) -> PyResult<Self> {
        let name = table.name;
        batch(table)
            .map(Self)
            .map_err(|error| EngineFault::new_err(format!("table {name}: {error}")))
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The Arrow PyCapsule protocol; a requested schema is not honoured, as the protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(batches);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }
}

fn batch(table: flashcrowd_workload::Table) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::with_capacity(table.columns.len());
    let mut arrays = Vec::with_capacity(table.columns.len());
    for (name, column) in table.columns {
        let nullable =
            matches!(column, Column::MaybeF64(_) | Column::MaybeU64(_) | Column::MaybeText(..));
        let array = array(column)?;
        fields.push(Field::new(name, array.data_type().clone(), nullable));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn array(column: Column) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::F64(values) => Arc::new(Float64Array::from(values)),
        Column::MaybeF64(values) => Arc::new(Float64Array::from(values)),
        Column::U64(values) => Arc::new(UInt64Array::from(values)),
        Column::MaybeU64(values) => Arc::new(UInt64Array::from(values)),
        Column::U32(values) => Arc::new(UInt32Array::from(values)),
        Column::Bytes(bytes, ends) => {
            let ends = std::iter::once(0).chain(ends);
            let offsets: Vec<i64> =
                ends.map(|end| i64::try_from(end).unwrap_or(i64::MAX)).collect();
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            Arc::new(LargeBinaryArray::try_new(offsets, Buffer::from_vec(bytes), None)?)
        }
        Column::Text(codes, words) => {
            let codes = codes.into_iter().map(|code| i32::try_from(code).unwrap_or(i32::MAX));
            let codes = Int32Array::from_iter_values(codes);
            let words = Arc::new(StringArray::from(words));
            Arc::new(DictionaryArray::<Int32Type>::try_new(codes, words)?)
        }
        Column::MaybeText(codes, words) => {
            let code = |code| i32::try_from(code).unwrap_or(i32::MAX);
            let codes: Int32Array = codes.into_iter().map(|it: Option<u32>| it.map(code)).collect();
            let words = Arc::new(StringArray::from(words));
            Arc::new(DictionaryArray::<Int32Type>::try_new(codes, words)?)
        }
    })
}
