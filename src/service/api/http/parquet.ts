/** Rows of one form as Parquet: a group of rows at a time, of which no more is held. */
import type { ByteWriter, ParquetWriter } from 'hyparquet-writer';

/** TIMESTAMP: from a text in the form of ISO 8601. */
type ColumnType = 'STRING' | 'INT32' | 'INT64' | 'TIMESTAMP';
export type Columns<Row> = Readonly<Record<keyof Row & string, ColumnType>>;

export interface ParquetFile<Row> {
  write(rows: readonly Row[]): Uint8Array;
  end(): Uint8Array;
}

const VALUES: Readonly<Record<ColumnType, (value: unknown) => unknown>> = {
  STRING: String,
  INT32: Number,
  INT64: (value) => BigInt(value as number),
  TIMESTAMP: (value) => new Date(value as string),
};

/** Few callers ask for it. */
export async function makeParquet<Row>(columns: Columns<Row>): Promise<ParquetFile<Row>> {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const types = Object.entries(columns) as [keyof Row & string, ColumnType][];
  const empty = types.map(([name, type]) => ({ name, type, data: [], nullable: true }));
  const bytes: ByteWriter = new ByteWriter();
  const writer: ParquetWriter = new ParquetWriter({
    writer: bytes,
    schema: schemaFromColumnData({ columnData: empty }),
    createdBy: 'probeyard',
  });
  const taken = (): Uint8Array => {
    const made = bytes.getBytes().slice();
    // Offsets in the file go on.
    bytes.index = 0;
    return made;
  };
  return {
    write(rows) {
      const columnData = types.map(([name, type]) => ({
        name,
        data: rows.map(({ [name]: value }) => (value === null ? null : VALUES[type](value))),
        offsetIndex: false,
      }));
      if (rows.length > 0) void writer.write({ columnData, rowGroupSize: rows.length });
      return taken();
    },
    end() {
      void writer.finish();
      return taken();
    },
  };
}
