package retry_test

import (
	"context"
	"database/sql/driver"
)

// fakeDB is a database whose statements and commits fail as it says.
type fakeDB struct{ insert, commit error }

func (d *fakeDB) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *fakeDB) Driver() driver.Driver                        { return nil }
func (d *fakeDB) Prepare(string) (driver.Stmt, error)          { return d, nil }
func (d *fakeDB) Close() error                                 { return nil }
func (d *fakeDB) Begin() (driver.Tx, error)                    { return d, nil }
func (d *fakeDB) Commit() error                                { return d.commit }
func (d *fakeDB) Rollback() error                              { return nil }
func (d *fakeDB) NumInput() int                                { return 0 }
func (d *fakeDB) Query([]driver.Value) (driver.Rows, error)    { return nil, driver.ErrSkip }
func (d *fakeDB) Exec([]driver.Value) (driver.Result, error)   { return driver.RowsAffected(1), d.insert }
