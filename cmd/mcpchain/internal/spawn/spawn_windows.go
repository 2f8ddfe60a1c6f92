package spawn

import (
	"errors"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobs has the job of each command that runs. What is in a job ends when the job is closed: by Kill, or by Windows
// after the end of this process, however that ends.
var jobs sync.Map // of *exec.Cmd to windows.Handle

// Prepare has a command wait for [Begin], because what it starts before that is not in its job. An interrupt of the
// console does not reach it.
func Prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
	if cmd.Err != nil || !isBatch(cmd.Path) {
		return
	}
	system, err := windows.GetSystemDirectory()
	if err == nil {
		cmd.SysProcAttr.CmdLine, err = batchLine(cmd.Path, cmd.Args[1:])
	}
	cmd.Path, cmd.Err = filepath.Join(system, "cmd.exe"), err
}

// Begin puts a command that was started into a job, and has it run. Without a job it ends alone.
func Begin(cmd *exec.Cmd) {
	if job, err := newJob(); err == nil {
		jobs.Store(cmd, job)
		if of := cmd.Process.WithHandle(func(process uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(process)) }); of != nil || err != nil {
			drop(cmd)
		}
	}
	if resume(cmd.Process.Pid) != nil {
		Kill(cmd)
	}
}

// Kill ends a command and all that it has started. A second call does nothing.
func Kill(cmd *exec.Cmd) {
	drop(cmd)
	_ = cmd.Process.Kill()
}

// Left returns how many processes of the job of a command still run.
func Left(cmd *exec.Cmd) int {
	job, ok := jobs.Load(cmd)
	if !ok {
		return 0
	}
	var counts struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		_         [4]int64
		_         [2]uint32
		running   uint32
		terminate uint32
	}
	_ = windows.QueryInformationJobObject(job.(windows.Handle), windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&counts)), uint32(unsafe.Sizeof(counts)), nil)
	return int(counts.running)
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	return job, nil
}

// drop ends what is in the job of a command.
func drop(cmd *exec.Cmd) {
	if job, ok := jobs.LoadAndDelete(cmd); ok {
		_ = windows.TerminateJobObject(job.(windows.Handle), 1)
		_ = windows.CloseHandle(job.(windows.Handle))
	}
}

// resume lets the threads of a process run. It has one, which os/exec does not tell.
func resume(pid int) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(threads) }()
	one := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &one); err == nil; err = windows.Thread32Next(threads, &one) {
		if int(one.OwnerProcessID) != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, one.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return err
}
