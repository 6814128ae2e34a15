package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"rsmsjob/internal/config"
	"rsmsjob/internal/plume"
	"rsmsjob/internal/storage"
	"rsmsjob/internal/storage/azurite"
)

// openFakeTables opens a store in an account whose tables are empty and stay
// so: transactions are given to answer and forgotten.
func openFakeTables(tb testing.TB, concurrency int, answer func(w http.ResponseWriter, body []byte)) *storage.Azure {
	tb.Helper()
	var buffers sync.Pool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ms-Version", "2019-02-02")
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"value":[]}`)
			return
		}
		buffer, ok := buffers.Get().(*bytes.Buffer)
		if !ok {
			buffer = new(bytes.Buffer)
		}
		defer buffers.Put(buffer)
		buffer.Reset()
		buffer.ReadFrom(r.Body)
		answer(w, buffer.Bytes())
	}))
	tb.Cleanup(server.Close)
	c, err := config.ParseConnection("AccountName=a;AccountKey=AAAA;TableEndpoint=" + server.URL + "/a;BlobEndpoint=" + server.URL + "/a;QueueEndpoint=" + server.URL + "/a")
	if err != nil {
		tb.Fatal(err)
	}
	names := azurite.NewNames()
	names.Layout.PublishConcurrency = concurrency
	a, err := storage.OpenConnection(c, names.Layout)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { a.Close() })
	return a
}

// answerTransaction says that n operations were done.
func answerTransaction(w http.ResponseWriter, n int) {
	const part = "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
		"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n\r\n"
	w.Header().Set("Content-Type", "multipart/mixed; boundary=batchresponse_1")
	w.WriteHeader(http.StatusAccepted)
	io.WriteString(w, "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n"+
		strings.Repeat(part, n)+"--changesetresponse_1--\r\n--batchresponse_1--\r\n")
}

// benchRow is row i of a run with 500 places, time by time.
func benchRow(i int) plume.Row {
	const places = 500
	return plume.Row{River: "Ohio River", RiverMile: float64(i%places)/8 + 0.0625, Branch: 3, Grid: 1 + i%places, JobID: "0b9f3c52-7d1e-4a52-9a55-5b0f6d1f7f30",
		Time:         time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(i/places) * time.Hour),
		ElapsedHours: float64(i/places) + 0.25, ConcentrationMgL: 1 / float64(3+i)}
}

func writeBenchRows(b *testing.B, s *storage.Azure, scenario string, n int) {
	b.Helper()
	w, err := s.PlumeByTime(context.Background(), "ohio", scenario)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort()
	for i := range n {
		if err := w.Write(benchRow(i)); err != nil {
			b.Fatal(err)
		}
	}
	if rows, err := w.Commit(); rows != n || err != nil {
		b.Fatalf("%d rows, %v", rows, err)
	}
}

// readyTransactions are the same rows as writeBenchRows writes, ready to be
// sent.
func readyTransactions(n int) (all [][]aztables.TransactionAction) {
	for i := range n {
		row := benchRow(i)
		partition, key := row.ByTimeKeys("ohio", "42")
		entity := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,"River":%q,"RiverMile@odata.type":"Edm.Double","RiverMile":%v,`+
			`"Branch":%d,"Grid":%d,"TimeUtc@odata.type":"Edm.DateTime","TimeUtc":%q,"ElapsedHours@odata.type":"Edm.Double","ElapsedHours":%v,`+
			`"ConcentrationMgL@odata.type":"Edm.Double","ConcentrationMgL":%v,"JobId":%q}`, partition, key, row.River, row.RiverMile,
			row.Branch, row.Grid, row.Time.Format(time.RFC3339), row.ElapsedHours, row.ConcentrationMgL, row.JobID)
		if i%100 == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: entity})
	}
	return all
}

// BenchmarkPlumeCeiling compares the writer with a loop that only submits
// ready-made transactions, in turns against the same emulator. The fastest of
// each counts, as the machine has more to do. ratio is the speed of the writer
// as a part of the speed of that loop.
func BenchmarkPlumeCeiling(b *testing.B) {
	const n = 2000
	service, err := aztables.NewServiceClientFromConnectionString("DefaultEndpointsProtocol=http;"+azurite.Connection(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	transactions := readyTransactions(n)
	writer, ceiling := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	write := func() {
		store, _ := openAzure(b)
		start := time.Now()
		writeBenchRows(b, store, "42", n)
		writer = min(writer, time.Since(start))
	}
	submit := func() {
		_, layout := openAzure(b)
		table := service.NewClient(layout.PlumeByTime)
		var g errgroup.Group
		g.SetLimit(layout.PublishConcurrency)
		start := time.Now()
		for _, actions := range transactions {
			g.Go(func() error {
				_, err := table.SubmitTransaction(context.Background(), actions, nil)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		ceiling = min(ceiling, time.Since(start))
	}
	for b.Loop() {
		for range 2 { // neither is always the first
			write()
			submit()
			submit()
			write()
		}
	}
	b.ReportMetric(n/writer.Seconds(), "rows/s")
	b.ReportMetric(n/ceiling.Seconds(), "ceiling-rows/s")
	b.ReportMetric(ceiling.Seconds()/writer.Seconds(), "ratio")
}

// BenchmarkPlumeRerun writes the rows of a scenario that has all of them.
func BenchmarkPlumeRerun(b *testing.B) {
	const n = 2000
	store, _ := openAzure(b)
	writeBenchRows(b, store, "42", n)
	for b.Loop() {
		writeBenchRows(b, store, "42", n)
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkPlumeMemory writes to an account that answers at once; peak-heap-B
// is the most heap in use at any transaction, the server's part included, and
// must not depend on the number of rows.
func BenchmarkPlumeMemory(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var peak, count atomic.Int64
			s := openFakeTables(b, 16, func(w http.ResponseWriter, body []byte) {
				if count.Add(1)%10 == 0 {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					for old := peak.Load(); int64(m.HeapInuse) > old && !peak.CompareAndSwap(old, int64(m.HeapInuse)); old = peak.Load() {
					}
				}
				answerTransaction(w, bytes.Count(body, []byte("\r\nPUT ")))
			})
			runtime.GC()
			for b.Loop() {
				writeBenchRows(b, s, "42", n)
			}
			b.ReportMetric(float64(peak.Load()), "peak-heap-B")
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
